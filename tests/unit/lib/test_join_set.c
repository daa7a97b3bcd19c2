/* Join sets in tasks: got in the order of their ends, cancelled, given up, out of
 * memory's way. */
#include "task/task.h"
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MOST = 300 };

static struct volt_notify gate[MOST];
static int outputs_dropped;

struct part {
    int at, number;
    struct volt_notified wait;
};

static enum volt_poll part_poll(struct volt_cx *cx, void *state)
{
    struct part *p = state;

    VOLT_BEGIN(p->at);
    volt_notified_init(&p->wait, &gate[p->number]);
    VOLT_AWAIT(p->at, volt_notified_poll(cx, &p->wait));
    VOLT_END(p->at);
}

static void part_drop(void *state)
{
    struct part *p = state;

    if (p->wait.notify)
        volt_notified_fini(&p->wait);
}

static void part_drop_output(void *state)
{
    (void)state;
    outputs_dropped++;
}

static const struct volt_task_type part_type = {
    .name = "part",
    .size = sizeof(struct part),
    .poll = part_poll,
    .drop = part_drop,
    .drop_output = part_drop_output,
};

struct whole {
    int at, n, cancelled;
    struct volt_join_set *set;
    struct volt_join_set_next next;
    int got[MOST];
};

static enum volt_poll whole_poll(struct volt_cx *cx, void *state)
{
    struct whole *w = state;

    VOLT_BEGIN(w->at);
    volt_join_set_next_init(&w->next, w->set);
    for (;;) {
        VOLT_AWAIT(w->at, volt_join_set_next_poll(cx, &w->next));
        if (!w->next.join.task)
            break;
        if (volt_join_status(&w->next.join) < 0)
            w->cancelled++;
        else
            w->got[w->n++] = ((struct part *)volt_join_state(&w->next.join))->number;
    }
    VOLT_END(w->at);
}

static void whole_drop(void *state)
{
    volt_join_set_next_fini(&((struct whole *)state)->next);
}

static const struct volt_task_type whole_type = {
    .name = "whole",
    .size = sizeof(struct whole),
    .poll = whole_poll,
    .drop = whole_drop,
};

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        volt_notify_init(&gate[i]);
    outputs_dropped = 0;
    return 0;
}

static struct volt_join_set *set_of(struct volt_runtime *rt, int n)
{
    struct volt_join_set *set = volt_join_set_new();

    assert_non_null(set);
    for (int i = 0; i < n; i++) {
        struct volt_join join;

        assert_int_equal(VOLT_SPAWN(rt, &part_type, &join, struct part, .number = i), 0);
        assert_int_equal(volt_join_set_add(set, &join), 0);
        assert_null(join.task);
    }
    return set;
}

static struct volt_join await(struct volt_runtime *rt, struct volt_join_set *set)
{
    struct volt_join join;

    assert_int_equal(VOLT_SPAWN(rt, &whole_type, &join, struct whole, .set = set), 0);
    return join;
}

static void test_got_in_the_order_of_their_ends(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join_set *set = set_of(rt, 5);
    static const int order[] = {3, 0, 4, 1, 2};
    struct volt_join join;

    (void)state;
    lone_settle(rt);
    volt_notify_one(&gate[order[0]]); /* before anybody awaits */
    lone_settle(rt);
    join = await(rt, set);
    for (int i = 1; i < 5; i++) {
        lone_settle(rt);
        assert_int_equal(volt_join_status(&join), -EINPROGRESS);
        volt_notify_one(&gate[order[i]]);
    }
    assert_int_equal(volt_join_wait(&join), 0);
    const struct whole *w = volt_join_state(&join);
    assert_int_equal(w->n, 5);
    assert_memory_equal(w->got, order, sizeof(order));
    volt_join_fini(&join);
    assert_int_equal(outputs_dropped, 5);
    volt_join_set_free(set);
    volt_join_set_free(NULL);
    volt_runtime_free(rt);
}

static void test_cancelled(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join_set *set = set_of(rt, 4);
    struct volt_join join;

    (void)state;
    lone_settle(rt);
    volt_notify_one(&gate[2]);
    lone_settle(rt);
    volt_join_set_cancel(set);
    join = await(rt, set);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct whole *w = volt_join_state(&join);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->cancelled, 3);
    volt_join_fini(&join);
    volt_join_set_free(set);
    volt_runtime_free(rt);
}

/* The one that awaits is cancelled, and the set freed: its tasks go on. */
static void test_given_up(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join_set *set = set_of(rt, 3);
    struct volt_stats st;
    struct volt_join join;

    (void)state;
    join = await(rt, set);
    lone_settle(rt);
    volt_notify_one(&gate[0]);
    lone_settle(rt);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    volt_notify_one(&gate[1]); /* ended, and not got */
    lone_settle(rt);
    volt_join_set_free(set);
    assert_int_equal(outputs_dropped, 2);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.live, 1);
    volt_notify_one(&gate[2]);
    lone_settle(rt);
    assert_int_equal(outputs_dropped, 3);
    volt_runtime_free(rt);
}

/* A task that awaits a handle, then puts it into a set. */
struct changes {
    int at, refs; /* on itself */
    struct volt_join join;
    struct volt_join_set *set;
    struct volt_yield yield;
};

static enum volt_poll changes_poll(struct volt_cx *cx, void *state)
{
    struct changes *s = state;

    VOLT_BEGIN(s->at);
    if (volt_join_poll(cx, &s->join) == VOLT_READY)
        return VOLT_READY;
    if (volt_join_set_add(s->set, &s->join) < 0)
        return VOLT_READY;
    VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    s->refs = (int)TASK_REFS(vat_u64_load(&task_of(state)->state, VAT_RLX));
    VOLT_END(s->at);
}

static const struct volt_task_type changes_type = {
    .name = "changes",
    .size = sizeof(struct changes),
    .poll = changes_poll,
};

static void test_a_handle_that_was_awaited(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join_set *set = volt_join_set_new();
    struct volt_join part, join;

    (void)state;
    assert_non_null(set);
    assert_int_equal(VOLT_SPAWN(rt, &part_type, &part, struct part, .number = 0), 0);
    assert_int_equal(
        VOLT_SPAWN(rt, &changes_type, &join, struct changes, .set = set, .join = part),
        0);
    assert_int_equal(volt_join_wait(&join), 0);
    assert_int_equal(((struct changes *)volt_join_state(&join))->refs, 2);
    volt_join_fini(&join);
    volt_notify_one(&gate[0]);
    join = await(rt, set);
    assert_int_equal(volt_join_wait(&join), 0);
    assert_int_equal(((struct whole *)volt_join_state(&join))->n, 1);
    volt_join_fini(&join);
    volt_join_set_free(set);
    volt_runtime_free(rt);
}

/* Many, on several workers, while they are added. */
static void test_many(void **state)
{
    struct volt_options opt = {.workers = 4};
    struct volt_runtime *rt;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < MOST; i++)
            volt_notify_one(&gate[i]);
        struct volt_join_set *set = set_of(rt, MOST);
        struct volt_join join = await(rt, set);
        bool seen[MOST] = {false};

        assert_int_equal(volt_join_wait(&join), 0);
        const struct whole *w = volt_join_state(&join);
        assert_int_equal(w->n, MOST);
        for (int i = 0; i < MOST; i++) {
            assert_false(seen[w->got[i]]);
            seen[w->got[i]] = true;
        }
        volt_join_fini(&join);
        volt_join_set_free(set);
    }
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_got_in_the_order_of_their_ends, setup),
        cmocka_unit_test_setup(test_cancelled, setup),
        cmocka_unit_test_setup(test_given_up, setup),
        cmocka_unit_test_setup(test_a_handle_that_was_awaited, setup),
        cmocka_unit_test_setup(test_many, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

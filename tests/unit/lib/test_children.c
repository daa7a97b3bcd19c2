/* Tasks that a poll spawns with handles, on one worker: which runs next, and that nobody
 * starves for it. Nothing here depends on time: a promise that is not kept hangs. */
#include "sched/sched.h"
#include "tests/support/polls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <volt/scope.h>

enum { CHILDREN = 6, OTHER = -1 };

struct parent {
    int at, next;
    bool awaits, has_other; /* in the ring, before its children */
    struct volt_join child[CHILDREN];
};

static int order[CHILDREN + 1]; /* count of them */

static enum volt_poll notes_itself(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    order[vat_u32_load(&count, VAT_RLX)] = *(int *)f->arg;
    vat_u32_add(&count, 1, VAT_REL);
    return VOLT_READY;
}

static void drop_parent(void *state)
{
    struct parent *p = state;

    for (int i = 0; i < CHILDREN; i++)
        volt_join_fini(&p->child[i]);
}

static enum volt_poll parent_poll(struct volt_cx *cx, void *state)
{
    static int number[CHILDREN + 1] = {0, 1, 2, 3, 4, 5, OTHER};
    struct parent *p = state;

    VOLT_BEGIN(p->at);
    if (p->has_other)
        FN_CHECK(fn_spawn(rt, notes_itself, &number[CHILDREN], NULL) == 0);
    for (int i = 0; i < CHILDREN; i++)
        FN_CHECK(fn_spawn(rt, notes_itself, &number[i], &p->child[i]) == 0);
    if (!p->awaits)
        return VOLT_READY;
    for (p->next = 0; p->next < CHILDREN; p->next++)
        VOLT_AWAIT(p->at, volt_join_poll(cx, &p->child[p->next]));
    VOLT_END(p->at);
}

static const struct volt_task_type parent_type = {
    .name = "parent",
    .size = sizeof(struct parent),
    .poll = parent_poll,
    .drop = drop_parent,
};

static void run_parent(bool awaits, bool has_other)
{
    struct parent *p = volt_task_new(rt, &parent_type);
    struct volt_join j;

    vat_u32_store(&count, 0, VAT_RLX);
    p->awaits = awaits;
    p->has_other = has_other;
    assert_int_equal(volt_task_spawn(p, &j), 0);
    join(&j, 0);
    wait_count(CHILDREN + has_other);
}

static bool newest_first(void)
{
    for (int i = 0; i < CHILDREN; i++)
        if (order[i] != CHILDREN - 1 - i)
            return false;
    return true;
}

/* But for the slot's, which was always first. */
static bool oldest_first(void)
{
    for (int i = 0; i < CHILDREN; i++)
        if (order[i] != (i == 0 ? CHILDREN - 1 : i - 1))
            return false;
    return true;
}

/* Where the system takes the processor away for a millisecond, the oldest comes sooner. */
static void children_that_are_awaited_run_newest_first(void **state)
{
    (void)state;
    rt = runtime(1);
    do
        run_parent(true, false);
    while (!newest_first());
}

static void others_run_in_their_order(void **state)
{
    (void)state;
    rt = runtime(1);
    do
        run_parent(false, false);
    while (!oldest_first());
}

static void children_pass_the_ring_as_often_as_the_slot_may(void **state)
{
    int i = 0;

    (void)state;
    rt = runtime(1);
    run_parent(true, true);
    while (order[i] != OTHER)
        i++;
    assert_in_range(i, 0, LIFO_CAP);
}

/* --- a pair of children, again and again, until the flag is up ----------------------- */

struct tree {
    int at;
    struct volt_join child[2];
};

static void drop_tree(void *state)
{
    struct tree *t = state;

    volt_join_fini(&t->child[0]);
    volt_join_fini(&t->child[1]);
}

static enum volt_poll tree_poll(struct volt_cx *cx, void *state)
{
    struct tree *t = state;

    VOLT_BEGIN(t->at);
    while (!vat_u32_load(&flag, VAT_ACQ)) {
        FN_CHECK(fn_spawn(rt, counts, NULL, &t->child[0]) == 0);
        FN_CHECK(fn_spawn(rt, counts, NULL, &t->child[1]) == 0);
        VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[0]));
        VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[1]));
        volt_join_fini(&t->child[0]);
        volt_join_fini(&t->child[1]);
    }
    VOLT_END(t->at);
}

static const struct volt_task_type tree_type = {
    .name = "tree",
    .size = sizeof(struct tree),
    .poll = tree_poll,
    .drop = drop_tree,
};

/* In the ring: it has woken itself. */
static enum volt_poll raises_the_flag_later(struct volt_cx *cx, struct fn_task *f)
{
    if (f->value++ < 100) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    return raise_flag(cx, f);
}

static void children_do_not_starve_the_ring(void **state)
{
    struct volt_join tree, other;

    (void)state;
    rt = runtime(1);
    assert_int_equal(volt_task_spawn(volt_task_new(rt, &tree_type), &tree), 0);
    wait_count(1000);
    assert_int_equal(fn_spawn(rt, raises_the_flag_later, NULL, &other), 0);
    join(&other, 0);
    join(&tree, 0);
}

/* --- of two children the newer one, which runs first, never stops having children ---- */

static enum volt_poll elder_poll(struct volt_cx *cx, void *state)
{
    struct tree *t = state;

    VOLT_BEGIN(t->at);
    FN_CHECK(fn_spawn(rt, raise_flag, NULL, &t->child[0]) == 0);
    FN_CHECK(volt_task_spawn(volt_task_new(rt, &tree_type), &t->child[1]) == 0);
    VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[0]));
    VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[1]));
    VOLT_END(t->at);
}

static const struct volt_task_type elder_type = {
    .name = "elder",
    .size = sizeof(struct tree),
    .poll = elder_poll,
    .drop = drop_tree,
};

static void newer_children_do_not_starve_the_oldest(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(1);
    assert_int_equal(volt_task_spawn(volt_task_new(rt, &elder_type), &j), 0);
    join(&j, 0);
}

/* --- beside scopes ------------------------------------------------------------------- */

struct mixed {
    int at;
    struct volt_join child[2];
    struct volt_scope scope;
};

static void drop_mixed(void *state)
{
    struct mixed *m = state;

    volt_join_fini(&m->child[0]);
    volt_join_fini(&m->child[1]);
    volt_scope_fini(&m->scope);
}

/* A child of a scope, with children of its own by handles, which it awaits or leaves. */
static enum volt_poll inner_poll(struct volt_cx *cx, void *state)
{
    struct tree *t = state;

    VOLT_BEGIN(t->at);
    FN_CHECK(fn_spawn(rt, counts, NULL, &t->child[0]) == 0);
    FN_CHECK(fn_spawn(rt, counts, NULL, &t->child[1]) == 0);
    VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[0]));
    VOLT_END(t->at);
}

static const struct volt_task_type inner_type = {
    .name = "inner",
    .size = sizeof(struct tree),
    .poll = inner_poll,
    .drop = drop_tree,
};

/* Its children by handles lie below those of its scope. */
static enum volt_poll mixed_poll(struct volt_cx *cx, void *state)
{
    struct mixed *m = state;

    VOLT_BEGIN(m->at);
    FN_CHECK(fn_spawn(rt, counts, NULL, &m->child[0]) == 0);
    FN_CHECK(fn_spawn(rt, counts, NULL, &m->child[1]) == 0);
    FN_CHECK(volt_scope_init(cx, &m->scope, &inner_type, 3) == 0);
    VOLT_AWAIT(m->at, volt_scope_poll(cx, &m->scope));
    VOLT_AWAIT(m->at, volt_join_poll(cx, &m->child[0]));
    VOLT_AWAIT(m->at, volt_join_poll(cx, &m->child[1]));
    VOLT_END(m->at);
}

static const struct volt_task_type mixed_type = {
    .name = "mixed",
    .size = sizeof(struct mixed),
    .poll = mixed_poll,
    .drop = drop_mixed,
};

static void scopes_take_only_what_is_theirs(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 2; workers++) {
        uint32_t before = vat_u32_load(&count, VAT_RLX);

        rt = runtime(workers);
        for (int i = 0; i < 200; i++) {
            struct volt_join j;

            assert_int_equal(volt_task_spawn(volt_task_new(rt, &mixed_type), &j), 0);
            join(&j, 0);
        }
        wait_count(before + 200 * 8);
        volt_runtime_free(rt);
        rt = NULL;
    }
}

/* --- for others ---------------------------------------------------------------------- */

/* Waits inside its poll until the other one is in its own. */
static enum volt_poll meets(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_AR);
    while (vat_u32_load(&count, VAT_ACQ) < 2)
        vat_pause();
    return VOLT_READY;
}

static enum volt_poll couple_poll(struct volt_cx *cx, void *state)
{
    struct tree *t = state;

    VOLT_BEGIN(t->at);
    FN_CHECK(fn_spawn(rt, meets, NULL, &t->child[0]) == 0);
    FN_CHECK(fn_spawn(rt, meets, NULL, &t->child[1]) == 0);
    VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[0]));
    VOLT_AWAIT(t->at, volt_join_poll(cx, &t->child[1]));
    VOLT_END(t->at);
}

static const struct volt_task_type couple_type = {
    .name = "couple",
    .size = sizeof(struct tree),
    .poll = couple_poll,
    .drop = drop_tree,
};

static void another_worker_takes_the_oldest(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(2);
    assert_int_equal(volt_task_spawn(volt_task_new(rt, &couple_type), &j), 0);
    join(&j, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, polls_setup, polls_teardown)
    const struct CMUnitTest tests[] = {
        TEST(children_that_are_awaited_run_newest_first),
        TEST(others_run_in_their_order),
        TEST(children_pass_the_ring_as_often_as_the_slot_may),
        TEST(children_do_not_starve_the_ring),
        TEST(newer_children_do_not_starve_the_oldest),
        TEST(scopes_take_only_what_is_theirs),
        TEST(another_worker_takes_the_oldest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

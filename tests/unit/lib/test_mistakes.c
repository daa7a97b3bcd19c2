/* Mistakes of a program that are asserted: the condition that failed says which one it
 * was. Each is made in a process of its own. */
#include "tests/support/fn_task.h"
#include "tests/support/in_child.h"
#include "tests/support/lone.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum mistake {
    EMPTY_STATUS,
    EMPTY_STATE,
    EMPTY_WAIT,
    EMPTY_ADD,
    EMPTY_POLL,
    WORKER_JOINS,
    WORKER_RECEIVES,
    WORKER_RECEIVES_ONE,
    SPAWNED_TWICE,
    SCOPE_GIVEN_UP,
    MISTAKES,
};

static void of_an_empty_handle(enum mistake m)
{
    struct volt_join join = {0};

    switch (m) {
    case EMPTY_STATUS:
        (void)volt_join_status(&join);
        break;
    case EMPTY_STATE:
        (void)volt_join_state(&join);
        break;
    case EMPTY_WAIT:
        (void)volt_join_wait(&join);
        break;
    default:
        (void)volt_join_set_add(volt_join_set_new(), &join);
    }
}

static enum volt_poll never(struct volt_cx *cx, struct fn_task *f)
{
    f->arg = volt_waker_new(cx).task; /* it may be woken, for all that anybody knows */
    return VOLT_PENDING;
}

static enum volt_poll polls_nothing(struct volt_cx *cx, struct fn_task *f)
{
    return volt_join_poll(cx, &f->join);
}

static enum volt_poll joins(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)volt_join_wait(f->arg);
    return VOLT_READY;
}

static enum volt_poll receives(struct volt_cx *cx, struct fn_task *f)
{
    struct volt_channel_recv recv;

    (void)cx;
    volt_channel_recv_init(&recv, volt_channel_new(sizeof(int), 2), &f->value);
    (void)volt_channel_recv_wait(&recv);
    return VOLT_READY;
}

static enum volt_poll receives_one(struct volt_cx *cx, struct fn_task *f)
{
    struct volt_oneshot_recv recv;

    (void)cx;
    volt_oneshot_recv_init(&recv, volt_oneshot_new(sizeof(int)), &f->value);
    (void)volt_oneshot_recv_wait(&recv);
    return VOLT_READY;
}

static void on_a_worker(enum mistake m)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join other, join;

    (void)fn_spawn(rt, never, NULL, &other);
    if (m == WORKER_JOINS)
        (void)fn_spawn(rt, joins, &other, &join);
    else if (m == WORKER_RECEIVES)
        (void)fn_spawn(rt, receives, NULL, &join);
    else if (m == WORKER_RECEIVES_ONE)
        (void)fn_spawn(rt, receives_one, NULL, &join);
    else
        (void)fn_spawn(rt, polls_nothing, NULL, &join);
    (void)volt_join_wait(&join);
}

static void spawn_twice(void)
{
    struct volt_runtime *rt = lone_runtime();
    struct fn_task *f = fn_task_new(rt, never, NULL);
    struct lone_hold hold;

    lone_hold_begin(rt, &hold);
    (void)volt_task_spawn(f, NULL);
    (void)volt_task_spawn(f, NULL);
}

struct parent {
    int at, status;
    struct volt_scope scope;
    struct volt_sleep limit;
};

static enum volt_poll endless_poll(struct volt_cx *cx, void *state)
{
    *(struct volt_waker *)state = volt_waker_new(cx);
    return VOLT_PENDING;
}

static const struct volt_task_type endless_type = {
    .name = "endless", .size = sizeof(struct volt_waker), .poll = endless_poll};

static enum volt_poll parent_poll(struct volt_cx *cx, void *state)
{
    struct parent *s = state;

    VOLT_BEGIN(s->at);
    if (volt_scope_init(cx, &s->scope, &endless_type, 1) < 0)
        return VOLT_READY;
    VOLT_AWAIT_FOR(s->at, s->status, cx, &s->limit, 0, volt_scope_poll(cx, &s->scope));
    volt_scope_fini(&s->scope);
    VOLT_END(s->at);
}

static const struct volt_task_type parent_type = {
    .name = "parent", .size = sizeof(struct parent), .poll = parent_poll};

static void give_a_scope_up(void)
{
    struct volt_join join;

    lone_spawn(volt_task_new(lone_runtime(), &parent_type), &join);
    (void)volt_join_wait(&join);
}

static void make(int mistake)
{
    if (mistake <= EMPTY_ADD)
        of_an_empty_handle((enum mistake)mistake);
    else if (mistake <= WORKER_RECEIVES_ONE)
        on_a_worker((enum mistake)mistake);
    else if (mistake == SPAWNED_TWICE)
        spawn_twice();
    else
        give_a_scope_up();
}

static void test_each_is_named(void **state)
{
    static const struct {
        const char *in, *words;
    } expected[MISTAKES] = {
        [EMPTY_STATUS] = {"volt_join_status", "the handle is empty"},
        [EMPTY_STATE] = {"volt_join_state", "the handle is empty"},
        [EMPTY_WAIT] = {"volt_join_wait", "the handle is empty"},
        [EMPTY_ADD] = {"volt_join_set_add", "the handle is empty"},
        [EMPTY_POLL] = {"volt_join_poll", "the handle is empty"},
        [WORKER_JOINS] = {"thread_check", "a worker must not block"},
        [WORKER_RECEIVES] = {"thread_check", "a worker must not block"},
        [WORKER_RECEIVES_ONE] = {"thread_check", "a worker must not block"},
        [SPAWNED_TWICE] = {"task_begin", "spawned twice"},
        [SCOPE_GIVEN_UP] = {"volt_scope_fini", "a scope is awaited to its end"},
    };

    (void)state;
    for (int m = 0; m < MISTAKES; m++) {
        char text[8192];
        int status = in_child(make, m, text, sizeof(text));
        bool named = strstr(text, expected[m].in) && strstr(text, expected[m].words);

        if (!named)
            print_error("%s: %s\n", expected[m].in, text);
        assert_true(named);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

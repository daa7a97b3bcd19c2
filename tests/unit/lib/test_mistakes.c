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
    WORKER_ENDS_ITS_RUNTIME,
    CALL_IN_PLACE_ENDS_ITS_RUNTIME,
    BLOCKING_CALL_ENDS_ITS_RUNTIME,
    READS_NOTHING,
    WRITES_NOTHING,
    ACCEPTS_NOTHING,
    CONNECTS_NOTHING,
    CLEARS_NOTHING,
    FORGETS_NOTHING,
    AWAITS_NO_NOTIFY,
    TWO_RECEIVE,
    TWO_RECEIVE_BY_TURNS,
    NOTHING_SPAWNED,
    NOTHING_SPAWNED_BLOCKING,
    NOTHING_AMONG_ALL,
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

static enum volt_poll ends_its_runtime(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    (void)volt_runtime_shutdown(volt_cx_runtime(cx), 0);
    return VOLT_READY;
}

static void frees(void *rt)
{
    volt_runtime_free(rt);
}

static enum volt_poll frees_its_runtime_in_place(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    volt_block_in_place(cx, frees, volt_cx_runtime(cx));
    return VOLT_READY;
}

static struct volt_io no_io;

static enum volt_poll reads_nothing(struct volt_cx *cx, struct fn_task *f)
{
    ssize_t n;

    return volt_io_read_poll(cx, &no_io, &f->value, sizeof(f->value), &n);
}

static enum volt_poll writes_nothing(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    return volt_io_writable_poll(cx, &no_io);
}

static enum volt_poll accepts_nothing(struct volt_cx *cx, struct fn_task *f)
{
    return volt_io_accept_poll(cx, &no_io, &f->value);
}

static enum volt_poll connects_nothing(struct volt_cx *cx, struct fn_task *f)
{
    struct sockaddr addr = {.sa_family = AF_UNSPEC};

    return volt_io_connect_poll(cx, &no_io, &addr, sizeof(addr), &f->value);
}

static enum volt_poll clears_nothing(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)f;
    volt_io_clear_writable(&no_io);
    return VOLT_READY;
}

static enum volt_poll forgets_nothing(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)f;
    volt_io_forget_reader(&no_io);
    return VOLT_READY;
}

static enum volt_poll awaits_no_notify(struct volt_cx *cx, struct fn_task *f)
{
    static struct volt_notified none;

    (void)f;
    return volt_notified_poll(cx, &none);
}

static enum volt_poll (*const polls[MISTAKES])(struct volt_cx *, struct fn_task *) = {
    [EMPTY_POLL] = polls_nothing,
    [WORKER_JOINS] = joins,
    [WORKER_RECEIVES] = receives,
    [WORKER_RECEIVES_ONE] = receives_one,
    [WORKER_ENDS_ITS_RUNTIME] = ends_its_runtime,
    [CALL_IN_PLACE_ENDS_ITS_RUNTIME] = frees_its_runtime_in_place,
    [READS_NOTHING] = reads_nothing,
    [WRITES_NOTHING] = writes_nothing,
    [ACCEPTS_NOTHING] = accepts_nothing,
    [CONNECTS_NOTHING] = connects_nothing,
    [CLEARS_NOTHING] = clears_nothing,
    [FORGETS_NOTHING] = forgets_nothing,
    [AWAITS_NO_NOTIFY] = awaits_no_notify,
};

static void on_a_worker(enum mistake m)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join other, join;

    (void)fn_spawn(rt, never, NULL, &other);
    (void)fn_spawn(rt, polls[m], &other, &join);
    (void)volt_join_wait(&join);
}

/* Two leaves of one channel, each of which waits in a task of its own. */
static struct volt_channel *channel;
static struct volt_channel_recv recvs[2];

static enum volt_poll awaits(struct volt_cx *cx, struct fn_task *f)
{
    return volt_channel_recv_poll(cx, f->arg);
}

/* Takes what has woken the first receiver before that one is polled. */
static enum volt_poll awaits_in_its_place(struct volt_cx *cx, struct fn_task *f)
{
    (void)volt_channel_try_send(channel, &f->value);
    (void)volt_channel_recv_poll(cx, &recvs[1]);
    return volt_channel_recv_poll(cx, &recvs[1]);
}

static void receive_twice(enum mistake m)
{
    struct volt_runtime *rt = lone_runtime();
    int value;

    channel = volt_channel_new(sizeof(value), 2);
    for (int i = 0; i < 2; i++)
        volt_channel_recv_init(&recvs[i], channel, &value);
    (void)fn_spawn(rt, awaits, &recvs[0], NULL);
    lone_settle(rt);
    (void)fn_spawn(rt, m == TWO_RECEIVE ? awaits : awaits_in_its_place, &recvs[1], NULL);
    lone_settle(rt);
}

static void end_in_a_blocking_call(void)
{
    struct fn_task *f = fn_task_new(lone_runtime(), ends_its_runtime, NULL);
    struct volt_join join;

    (void)volt_task_spawn_blocking(f, &join);
    (void)volt_join_wait(&join);
}

static void spawn_nothing(enum mistake m)
{
    void *const states[] = {NULL};

    if (m == NOTHING_SPAWNED)
        (void)volt_task_spawn(NULL, NULL);
    else if (m == NOTHING_SPAWNED_BLOCKING)
        (void)volt_task_spawn_blocking(NULL, NULL);
    else
        (void)volt_task_spawn_all(states, 1);
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
    else if (polls[mistake])
        on_a_worker((enum mistake)mistake);
    else if (mistake == BLOCKING_CALL_ENDS_ITS_RUNTIME)
        end_in_a_blocking_call();
    else if (mistake <= TWO_RECEIVE_BY_TURNS)
        receive_twice((enum mistake)mistake);
    else if (mistake <= NOTHING_AMONG_ALL)
        spawn_nothing((enum mistake)mistake);
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
        [WORKER_ENDS_ITS_RUNTIME] = {"volt_runtime_shutdown", "can end its own runtime"},
        [CALL_IN_PLACE_ENDS_ITS_RUNTIME] = {"volt_runtime_shutdown",
                                            "can end its own runtime"},
        [BLOCKING_CALL_ENDS_ITS_RUNTIME] = {"volt_runtime_shutdown",
                                            "can end its own runtime"},
        [READS_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [WRITES_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [ACCEPTS_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [CONNECTS_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [CLEARS_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [FORGETS_NOTHING] = {"registration_of", "the volt_io is not initialised"},
        [AWAITS_NO_NOTIFY] = {"take_or_queue", "the leaf is not initialised"},
        [TWO_RECEIVE] = {"check_receiver", "one receives at a time"},
        [TWO_RECEIVE_BY_TURNS] = {"check_receiver", "one receives at a time"},
        [NOTHING_SPAWNED] = {"task_to_spawn", "there is no state"},
        [NOTHING_SPAWNED_BLOCKING] = {"task_to_spawn", "there is no state"},
        [NOTHING_AMONG_ALL] = {"task_to_spawn", "there is no state"},
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

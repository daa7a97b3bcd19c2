/* VOLT_DEBUG=leaves: what it says of each forgotten leaf and of a poll that nothing will
 * wake, and what lists the tasks that live. Each mistake is made in a process of its
 * own. */
#include "task/task.h"
#include "tests/support/in_child.h"
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
    SLEEP,
    SEM,
    MUTEX,
    READ,
    WRITE,
    NOTIFIED,
    JOIN,
    SEND,
    RECEIVE,
    ONESHOT,
    GROUP,
    BROADCAST,
    NEXT,
    KINDS,
};

/* What all states of this test have in common; forgets what it waits on, if told so. */
struct waits {
    enum kind kind;
    bool forgets, begun;
    struct volt_sleep sleep;
    struct volt_sem_acquire acquire;
    struct volt_rwlock_acquire lock;
    struct volt_notified notified;
    struct volt_join join;
    struct volt_channel_send send;
    struct volt_channel_recv recv;
    struct volt_oneshot_recv oneshot;
    struct volt_mutex_lock mutex_lock;
    struct volt_wait_group_wait wait;
    struct volt_broadcast_recv news;
    struct volt_join_set_next next;
};

static struct volt_sem sem;
static struct volt_mutex mutex;
static struct volt_rwlock rwlock;
static struct volt_notify notify;
static struct volt_channel *full, *empty;
static struct volt_oneshot *oneshot;
static struct volt_wait_group group = VOLT_WAIT_GROUP_INIT(1);
static struct volt_broadcast *broadcast;
static struct volt_join_set *set;
static int item;

static enum volt_poll never(struct volt_cx *cx, void *state)
{
    (void)cx;
    (void)state;
    return VOLT_PENDING;
}

static const struct volt_task_type never_type = {
    .name = "never", .size = 8, .poll = never};

static void begin(struct volt_cx *cx, struct waits *w)
{
    struct volt_join join;

    w->begun = true;
    switch (w->kind) {
    case SLEEP:
        volt_sleep_init(&w->sleep, UINT64_MAX);
        break;
    case SEM:
        volt_sem_acquire_init(&w->acquire, &sem, 2);
        break;
    case MUTEX:
        volt_mutex_lock_init(&w->mutex_lock, &mutex);
        break;
    case READ:
        volt_rwlock_acquire_init_read(&w->lock, &rwlock);
        break;
    case WRITE:
        volt_rwlock_acquire_init_write(&w->lock, &rwlock);
        break;
    case NOTIFIED:
        volt_notified_init(&w->notified, &notify);
        break;
    case JOIN:
        lone_spawn(volt_task_new(volt_cx_runtime(cx), &never_type), &w->join);
        break;
    case SEND:
        volt_channel_send_init(&w->send, full, &item);
        break;
    case RECEIVE:
        volt_channel_recv_init(&w->recv, empty, &item);
        break;
    case ONESHOT:
        volt_oneshot_recv_init(&w->oneshot, oneshot, &item);
        break;
    case GROUP:
        volt_wait_group_wait_init(&w->wait, &group);
        break;
    case BROADCAST:
        volt_broadcast_recv_init(&w->news, broadcast, &item);
        break;
    default:
        lone_spawn(volt_task_new(volt_cx_runtime(cx), &never_type), &join);
        (void)volt_join_set_add(set, &join);
        volt_join_set_next_init(&w->next, set);
    }
}

static enum volt_poll waits_poll(struct volt_cx *cx, void *state)
{
    struct waits *w = state;

    if (!w->begun)
        begin(cx, w);
    switch (w->kind) {
    case SLEEP:
        return volt_sleep_poll(cx, &w->sleep);
    case SEM:
        return volt_sem_acquire_poll(cx, &w->acquire);
    case MUTEX:
        return volt_mutex_lock_poll(cx, &w->mutex_lock);
    case READ:
    case WRITE:
        return volt_rwlock_acquire_poll(cx, &w->lock);
    case NOTIFIED:
        return volt_notified_poll(cx, &w->notified);
    case JOIN:
        return volt_join_poll(cx, &w->join);
    case SEND:
        return volt_channel_send_poll(cx, &w->send);
    case RECEIVE:
        return volt_channel_recv_poll(cx, &w->recv);
    case ONESHOT:
        return volt_oneshot_recv_poll(cx, &w->oneshot);
    case GROUP:
        return volt_wait_group_wait_poll(cx, &w->wait);
    case BROADCAST:
        return volt_broadcast_recv_poll(cx, &w->news);
    default:
        return volt_join_set_next_poll(cx, &w->next);
    }
}

static void waits_drop(void *state)
{
    struct waits *w = state;

    if (w->forgets)
        return;
    volt_sleep_fini(&w->sleep);
    volt_sem_acquire_fini(&w->acquire);
    volt_mutex_lock_fini(&w->mutex_lock);
    volt_rwlock_acquire_fini(&w->lock);
    volt_notified_fini(&w->notified);
    volt_join_fini(&w->join);
    volt_channel_send_fini(&w->send);
    volt_channel_recv_fini(&w->recv);
    volt_oneshot_recv_fini(&w->oneshot);
    volt_wait_group_wait_fini(&w->wait);
    volt_broadcast_recv_fini(&w->news);
    volt_join_set_next_fini(&w->next);
}

static const struct volt_task_type waits_type = {
    .name = "waits",
    .size = sizeof(struct waits),
    .poll = waits_poll,
    .drop = waits_drop,
};

/* A runtime of that VOLT_DEBUG, everything locked, empty or full. */
static struct volt_runtime *runtime_with(const char *debug)
{
    setenv("VOLT_DEBUG", debug, 1);
    volt_sem_init(&sem, 1, 2);
    volt_mutex_init(&mutex);
    volt_rwlock_init(&rwlock);
    volt_notify_init(&notify);
    full = volt_channel_new(sizeof(int), 2);
    empty = volt_channel_new(sizeof(int), 2);
    oneshot = volt_oneshot_new(sizeof(int));
    broadcast = volt_broadcast_new(sizeof(int), 2);
    set = volt_join_set_new();
    if (!full || !empty || !oneshot || !broadcast || !set ||
        !volt_mutex_try_lock(&mutex) || !volt_rwlock_try_write(&rwlock) ||
        volt_channel_try_send(full, &item) < 0 || volt_channel_try_send(full, &item) < 0)
        abort();
    return lone_runtime();
}

static struct volt_runtime *watched(void)
{
    return runtime_with(",leaves,");
}

static struct volt_join spawn(struct volt_runtime *rt, enum kind kind, bool forgets)
{
    struct waits *w = volt_task_new(rt, &waits_type);
    struct volt_join join;

    if (!w)
        abort();
    w->kind = kind;
    w->forgets = forgets;
    lone_spawn(w, &join);
    lone_settle(rt);
    return join;
}

static void forget_in(struct volt_runtime *rt, enum kind kind)
{
    struct volt_join join = spawn(rt, kind, true);

    volt_join_cancel(&join);
    (void)lone_join(&join);
}

static void forget(int kind)
{
    forget_in(watched(), (enum kind)kind);
}

static void test_a_forgotten_leaf_is_named(void **state)
{
    static const struct {
        const char *name;
        size_t at;
    } expected[KINDS] = {
        {"volt_sleep", offsetof(struct waits, sleep)},
        {"volt_sem_acquire", offsetof(struct waits, acquire)},
        {"volt_mutex_lock", offsetof(struct waits, mutex_lock)},
        {"volt_rwlock_acquire", offsetof(struct waits, lock)},
        {"volt_rwlock_acquire", offsetof(struct waits, lock)},
        {"volt_notified", offsetof(struct waits, notified)},
        {"volt_join", offsetof(struct waits, join)},
        {"volt_channel_send", offsetof(struct waits, send)},
        {"volt_channel_recv", offsetof(struct waits, recv)},
        {"volt_oneshot_recv", offsetof(struct waits, oneshot)},
        {"volt_wait_group_wait", offsetof(struct waits, wait)},
        {"volt_broadcast_recv", offsetof(struct waits, news)},
        {"volt_join_set_next", offsetof(struct waits, next)},
    };
    char text[4096], words[256];

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        int status = in_child(forget, k, text, sizeof(text));

        (void)snprintf(words, sizeof(words),
                       "libvolt: task \"waits\" has ended, but its %s at byte %zu of its "
                       "state still waits: its drop must call %s_fini()\n",
                       expected[k].name, expected[k].at, expected[k].name);
        if (!strstr(text, words))
            print_error("%s", text);
        assert_non_null(strstr(text, words));
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

static void forget_misspelt(int kind)
{
    forget_in(runtime_with("leafs,leaves,1"), (enum kind)kind);
}

static void test_unknown_words_are_named(void **state)
{
    static const char words[] =
        "libvolt: VOLT_DEBUG has no word \"leafs\"; its words: leaves\n"
        "libvolt: VOLT_DEBUG has no word \"1\"; its words: leaves\n";
    char text[4096];

    (void)state;
    assert_true(WIFSIGNALED(in_child(forget_misspelt, SLEEP, text, sizeof(text))));
    assert_memory_equal(text, words, sizeof(words) - 1);
    assert_non_null(strstr(text, "has ended, but its volt_sleep "));
}

struct reader {
    struct volt_io io;
    char byte;
    ssize_t n;
};

static enum volt_poll reader_poll(struct volt_cx *cx, void *state)
{
    struct reader *r = state;

    return volt_io_read_poll(cx, &r->io, &r->byte, 1, &r->n);
}

static const struct volt_task_type reader_type = {
    .name = "reader",
    .size = sizeof(struct reader),
    .poll = reader_poll,
};

static void forget_io(int kind)
{
    struct volt_runtime *rt = watched();
    struct reader *r = volt_task_new(rt, &reader_type);
    struct volt_join join;
    int fds[2];

    (void)kind;
    if (!r || pipe2(fds, O_NONBLOCK) < 0 || volt_io_init(&r->io, rt, fds[0]) < 0)
        abort();
    lone_spawn(r, &join);
    lone_settle(rt);
    volt_join_cancel(&join);
    (void)lone_join(&join);
}

static void test_a_forgotten_descriptor_is_named(void **state)
{
    char text[4096];

    (void)state;
    assert_true(WIFSIGNALED(in_child(forget_io, 0, text, sizeof(text))));
    assert_non_null(strstr(text,
                           "task \"reader\" has ended, but its volt_io at byte 0 of "
                           "its state still waits: its drop must call "
                           "volt_io_fini()"));
}

static void finish_all(int kind)
{
    struct volt_runtime *rt = watched();

    (void)kind;
    for (int k = 0; k < KINDS; k++) {
        struct volt_join join = spawn(rt, (enum kind)k, false);

        volt_join_cancel(&join);
        (void)lone_join(&join);
    }
    volt_oneshot_send_fini(oneshot);
    volt_runtime_free(rt);
}

/* Of each kind: woken, and seen; nothing is left in the record. */
static void see_all(int kind)
{
    struct volt_runtime *rt = watched();

    (void)kind;
    struct volt_join s = spawn(rt, SEM, true), m = spawn(rt, MUTEX, true);
    struct volt_join n = spawn(rt, NOTIFIED, true), o = spawn(rt, SEND, true);

    (void)volt_sem_release(&sem, 1);
    volt_mutex_unlock(&mutex);
    volt_notify_one(&notify);
    (void)volt_channel_try_recv(full, &item);
    if (lone_join(&s) || lone_join(&m) || lone_join(&n) || lone_join(&o))
        abort();
    volt_runtime_free(rt);
}

static void test_what_is_finished_or_seen_is_not_named(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(in_child(see_all, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(in_child(finish_all, 0, text, sizeof(text)), 0);
    /* of the joined task, which is to wait on nothing */
    assert_null(strstr(text, "waits\""));
}

/* A child that is no part of the state: it is ended by somebody else. */
static struct volt_child child;

static enum volt_poll guard_poll(struct volt_cx *cx, void *state)
{
    return volt_child_poll(cx, &child, state);
}

static const struct volt_task_type guard_type = {
    .name = "guard",
    .size = sizeof(int),
    .poll = guard_poll,
};

static void see_a_child_end(int kind)
{
    struct volt_join join;
    int fds[2];

    (void)kind;
    if (pipe(fds) < 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[1]);
        _exit((int)read(fds[0], &kind, 1));
    }
    struct volt_runtime *rt = watched();
    if (volt_child_init(&child, rt, pid) < 0)
        abort();
    lone_spawn(volt_task_new(rt, &guard_type), &join);
    lone_settle(rt);
    close(fds[1]);
    if (lone_join(&join))
        abort();
    volt_child_fini(&child);
    volt_runtime_free(rt);
}

/* The system said so, before any event did. */
static void test_a_child_whose_end_was_seen_is_not_named(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(in_child(see_a_child_end, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

/* More joins than a record has room for are given up while they wait, half of them when
 * what they join has ended; then a timer is forgotten. */
struct gives_up {
    int at, i, status;
    struct volt_join join[20];
    struct volt_sleep limit, forgotten;
    struct volt_yield yield;
};

static enum volt_poll gives_up_poll(struct volt_cx *cx, void *state)
{
    struct gives_up *s = state;

    VOLT_BEGIN(s->at);
    for (s->i = 0; s->i < 20; s->i++) {
        lone_spawn(volt_task_new(volt_cx_runtime(cx), &never_type), &s->join[s->i]);
        VOLT_AWAIT_FOR(s->at, s->status, cx, &s->limit, 0,
                       volt_join_poll(cx, &s->join[s->i]));
        if (s->i % 2)
            volt_join_cancel(&s->join[s->i]);
        while (s->i % 2 && volt_join_status(&s->join[s->i]) == -EINPROGRESS)
            VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
        volt_join_fini(&s->join[s->i]);
    }
    volt_sleep_init(&s->forgotten, UINT64_MAX);
    VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->forgotten));
    VOLT_END(s->at);
}

static const struct volt_task_type gives_up_type = {
    .name = "gives up",
    .size = sizeof(struct gives_up),
    .poll = gives_up_poll,
};

static void give_joins_up(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join join;

    (void)kind;
    lone_spawn(volt_task_new(rt, &gives_up_type), &join);
    lone_settle(rt);
    (void)volt_runtime_dump(rt, STDERR_FILENO);
    volt_join_cancel(&join);
    (void)lone_join(&join);
}

static void test_joins_that_were_given_up_are_forgotten(void **state)
{
    char text[8192];

    (void)state;
    assert_true(WIFSIGNALED(in_child(give_joins_up, 0, text, sizeof(text))));
    assert_non_null(strstr(text, "waiting on volt_sleep, age "));
    assert_non_null(strstr(text, "task \"gives up\" has ended, but its volt_sleep at "));
    assert_null(strstr(text, "volt_join"));
}

/* Two leaves wait, and the one that was entered first is seen. */
struct pair {
    int at, which;
    struct volt_notified first;
    struct volt_sleep second;
};

static enum volt_poll pair_poll(struct volt_cx *cx, void *state)
{
    struct pair *s = state;

    VOLT_BEGIN(s->at);
    volt_notified_init(&s->first, &notify);
    volt_sleep_init(&s->second, UINT64_MAX);
    VOLT_AWAIT(s->at, VOLT_SELECT(s->which, volt_notified_poll(cx, &s->first),
                                  volt_sleep_poll(cx, &s->second)));
    VOLT_END(s->at);
}

static const struct volt_task_type pair_type = {
    .name = "pair",
    .size = sizeof(struct pair),
    .poll = pair_poll,
};

static void see_the_first(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join join;

    (void)kind;
    lone_spawn(volt_task_new(rt, &pair_type), &join);
    lone_settle(rt);
    volt_notify_one(&notify);
    (void)lone_join(&join);
}

static void test_of_two_leaves_the_other_is_named(void **state)
{
    char text[4096];

    (void)state;
    assert_true(WIFSIGNALED(in_child(see_the_first, 0, text, sizeof(text))));
    assert_non_null(strstr(text, "must call volt_sleep_fini()"));
    assert_null(strstr(text, "volt_notified"));
}

/* A semaphore is none the less one for a maximum of 1. */
static void forget_gate(int kind)
{
    struct volt_runtime *rt = watched();
    struct waits *w = volt_task_new(rt, &waits_type);
    struct volt_join join;

    (void)kind;
    volt_sem_init(&sem, 0, 1);
    w->kind = SEM;
    w->forgets = w->begun = true;
    volt_sem_acquire_init(&w->acquire, &sem, 1);
    lone_spawn(w, &join);
    lone_settle(rt);
    volt_join_cancel(&join);
    (void)lone_join(&join);
}

static void test_a_semaphore_of_one_is_called_so(void **state)
{
    char text[4096];

    (void)state;
    assert_true(WIFSIGNALED(in_child(forget_gate, 0, text, sizeof(text))));
    assert_non_null(strstr(text, "must call volt_sem_acquire_fini()"));
}

/* A child of a scope that waits by a waker, as a future of one's own does. */
static struct volt_waker waker;

static enum volt_poll waker_poll(struct volt_cx *cx, void *state)
{
    int *polls = state;

    if ((*polls)++ > 0)
        return VOLT_READY;
    waker = volt_waker_new(cx);
    return VOLT_PENDING;
}

static const struct volt_task_type waker_type = {
    .name = "by a waker",
    .size = sizeof(int),
    .poll = waker_poll,
};

struct parent {
    int at;
    struct volt_scope scope;
};

static enum volt_poll parent_poll(struct volt_cx *cx, void *state)
{
    struct parent *s = state;

    VOLT_BEGIN(s->at);
    if (volt_scope_init(cx, &s->scope, &waker_type, 1) < 0)
        abort();
    VOLT_AWAIT(s->at, volt_scope_poll(cx, &s->scope));
    volt_scope_fini(&s->scope);
    VOLT_END(s->at);
}

static const struct volt_task_type parent_type = {
    .name = "parent",
    .size = sizeof(struct parent),
    .poll = parent_poll,
};

static void wait_in_scope(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join join;

    (void)kind;
    lone_spawn(volt_task_new(rt, &parent_type), &join);
    lone_settle(rt);
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
    if (lone_join(&join) != 0)
        abort();
    volt_runtime_free(rt);
}

static void test_a_child_of_a_scope_may_wait_by_a_waker(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(in_child(wait_in_scope, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

/* The loop with a limit that forgets _fini when what it limits was first. */
struct again {
    int polls;
    struct volt_sleep sleep;
};

static enum volt_poll again_poll(struct volt_cx *cx, void *state)
{
    struct again *s = state;

    volt_sleep_init(&s->sleep, UINT64_MAX);
    if (s->polls++ == 0)
        volt_cx_wake(cx);
    return volt_sleep_poll(cx, &s->sleep);
}

static const struct volt_task_type again_type = {
    .name = "again",
    .size = sizeof(struct again),
    .poll = again_poll,
};

static void initialise_again(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join join;

    (void)kind;
    lone_spawn(volt_task_new(rt, &again_type), &join);
    lone_settle(rt);
    _exit(1);
}

static void test_a_timer_initialised_while_it_waits_is_named(void **state)
{
    char text[4096], words[256];
    int status = in_child(initialise_again, 0, text, sizeof(text));

    (void)state;
    (void)snprintf(
        words, sizeof(words),
        "libvolt: task \"again\" has initialised its volt_sleep at byte %zu of "
        "its state while that waited: volt_sleep_fini() must come first\n",
        offsetof(struct again, sleep));
    assert_string_equal(text, words);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void wait_on_nothing(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join join;

    (void)kind;
    lone_spawn(volt_task_new(rt, &never_type), &join);
    lone_settle(rt);
    volt_join_cancel(&join);
    (void)lone_join(&join);
    volt_runtime_free(rt);
}

static void test_pending_without_a_waker_is_named(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(in_child(wait_on_nothing, 0, text, sizeof(text)), 0);
    assert_string_equal(text,
                        "libvolt: task \"never\" is pending, but nothing will wake it: "
                        "no leaf that it has polled waits, and nobody has a waker of "
                        "it\n");
}

static void print_task(void *arg, const struct volt_task_info *info)
{
    (void)arg;
    (void)fprintf(stderr, "%s %s%s on '%s'\n", info->type, info->state,
                  info->cancelled ? " cancelled" : "", info->waits_on);
    if (info->waiting_usec > info->age_usec)
        abort();
}

static void list(int kind)
{
    struct volt_runtime *rt = watched();
    struct volt_join a = spawn(rt, SLEEP, false), b = spawn(rt, READ, false);
    struct lone_hold hold;

    (void)kind;
    lone_hold_begin(rt, &hold);
    volt_join_cancel(&b);
    if (volt_runtime_tasks(rt, print_task, NULL) != 3)
        abort();
    lone_hold_end(&hold);
    (void)lone_join(&b);
    (void)volt_runtime_dump(rt, STDERR_FILENO);
    volt_join_cancel(&a);
    (void)lone_join(&a);
    if (volt_runtime_tasks(rt, print_task, NULL) != 0)
        abort();
    volt_runtime_free(rt);
}

static void test_live_tasks_are_listed(void **state)
{
    char text[4096];

    (void)state;
    assert_int_equal(in_child(list, 0, text, sizeof(text)), 0);
    assert_non_null(strstr(text, "waits waiting on 'volt_sleep'\n"));
    assert_non_null(strstr(text, "waits queued cancelled on 'volt_rwlock_acquire'\n"));
    assert_non_null(strstr(text, " running on ''\n"));
    assert_non_null(strstr(text, "waiting on volt_sleep, age "));
}

static void count(void *arg, const struct volt_task_info *info)
{
    unsigned *n = arg;

    *n += strcmp(info->type, "waits") == 0;
}

/* More than one portion of room, and without VOLT_DEBUG. */
static void test_many_tasks_are_listed(void **state)
{
    enum { N = 1000 };
    static struct volt_join join[N];
    struct volt_runtime *rt = lone_runtime();
    unsigned n = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        struct waits *w = volt_task_new(rt, &waits_type);

        assert_non_null(w);
        w->kind = NOTIFIED;
        lone_spawn(w, &join[i]);
    }
    lone_settle(rt);
    assert_int_equal(volt_runtime_tasks(rt, count, &n), N);
    assert_int_equal(n, N);
    for (int i = 0; i < N; i++) { /* its own reference, and the handle's */
        assert_int_equal(TASK_REFS(vat_u64_load(&join[i].task->state, VAT_RLX)), 2);
        volt_join_cancel(&join[i]);
        assert_int_equal(lone_join(&join[i]), -ECANCELED);
    }
    volt_runtime_free(rt);
}

static int clean(void **state)
{
    (void)state;
    unsetenv("VOLT_DEBUG");
    volt_notify_init(&notify);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_forgotten_leaf_is_named),
        cmocka_unit_test(test_unknown_words_are_named),
        cmocka_unit_test(test_a_forgotten_descriptor_is_named),
        cmocka_unit_test(test_what_is_finished_or_seen_is_not_named),
        cmocka_unit_test(test_a_child_whose_end_was_seen_is_not_named),
        cmocka_unit_test(test_joins_that_were_given_up_are_forgotten),
        cmocka_unit_test(test_of_two_leaves_the_other_is_named),
        cmocka_unit_test(test_a_semaphore_of_one_is_called_so),
        cmocka_unit_test(test_a_child_of_a_scope_may_wait_by_a_waker),
        cmocka_unit_test(test_a_timer_initialised_while_it_waits_is_named),
        cmocka_unit_test(test_pending_without_a_waker_is_named),
        cmocka_unit_test(test_live_tasks_are_listed),
        cmocka_unit_test(test_many_tasks_are_listed),
    };

    return cmocka_run_group_tests(tests, clean, NULL);
}

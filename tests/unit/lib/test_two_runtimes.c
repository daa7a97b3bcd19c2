/* Runtimes side by side in one process: what their tasks share works as within one, one
 * of them may end while the other goes on, and a forked child may have runtimes of its
 * own. */
#include "base/atomic.h"
#include "tests/support/fn_task.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { TASKS = 32, ROUNDS = 200 };

static struct volt_runtime *rt[2];
static struct volt_mutex mutex;
static struct volt_sem sem;
static struct volt_notify turn[2];
static uint64_t counter; /* under the mutex */

static struct volt_runtime *runtime(unsigned workers)
{
    struct volt_options opt = {.workers = workers};
    struct volt_runtime *r;

    FN_CHECK(volt_runtime_new(&opt, &r) == 0);
    return r;
}

static int begin(void **state)
{
    (void)state;
    rt[0] = runtime(2);
    rt[1] = runtime(2);
    volt_mutex_init(&mutex);
    volt_sem_init(&sem, 2, 2);
    volt_notify_init(&turn[0]);
    volt_notify_init(&turn[1]);
    counter = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    volt_runtime_free(rt[0]);
    volt_runtime_free(rt[1]);
    volt_mutex_fini(&mutex);
    volt_sem_fini(&sem);
    volt_notify_fini(&turn[0]);
    volt_notify_fini(&turn[1]);
    return 0;
}

/* --- locks that tasks of both take -------------------------------------------------- */

struct taker {
    int at, round;
    bool holds_permit, holds_lock;
    struct volt_sem_acquire permit;
    struct volt_mutex_lock lock;
    struct volt_yield yield;
};

static enum volt_poll taker_poll(struct volt_cx *cx, void *state)
{
    struct taker *t = state;

    VOLT_BEGIN(t->at);
    for (t->round = 0; t->round < ROUNDS; t->round++) {
        volt_sem_acquire_init(&t->permit, &sem, 1);
        VOLT_AWAIT(t->at, volt_sem_acquire_poll(cx, &t->permit));
        t->holds_permit = true;
        volt_mutex_lock_init(&t->lock, &mutex);
        VOLT_AWAIT(t->at, volt_mutex_lock_poll(cx, &t->lock));
        t->holds_lock = true;
        counter++;
        if (t->round % 4 == 0)
            VOLT_AWAIT(t->at, volt_yield_poll(cx, &t->yield));
        volt_mutex_unlock(&mutex);
        t->holds_lock = false;
        FN_CHECK(volt_sem_release(&sem, 1) == 0);
        t->holds_permit = false;
    }
    VOLT_END(t->at);
}

static void taker_drop(void *state)
{
    struct taker *t = state;

    volt_mutex_lock_fini(&t->lock);
    volt_sem_acquire_fini(&t->permit);
    if (t->holds_lock)
        volt_mutex_unlock(&mutex);
    if (t->holds_permit)
        FN_CHECK(volt_sem_release(&sem, 1) == 0);
}

static const struct volt_task_type taker_type = {
    .name = "taker",
    .size = sizeof(struct taker),
    .poll = taker_poll,
    .drop = taker_drop,
};

static void spawn_takers(struct volt_join join[TASKS])
{
    for (int i = 0; i < TASKS; i++) {
        struct taker *t = volt_task_new(rt[i % 2], &taker_type);

        FN_CHECK(t && volt_task_spawn(t, &join[i]) == 0);
    }
}

static void test_F_D2_tasks_of_two_runtimes_share_locks(void **state)
{
    struct volt_join join[TASKS];
    struct volt_stats stats;

    (void)state;
    spawn_takers(join);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(volt_join_wait(&join[i]), 0);
        volt_join_fini(&join[i]);
    }
    assert_int_equal(counter, TASKS * ROUNDS);
    assert_int_equal(volt_sem_available(&sem), 2);
    for (int i = 0; i < 2; i++) {
        volt_runtime_stats(rt[i], &stats);
        assert_int_equal(stats.spawned, TASKS / 2);
    }
}

/* What its tasks hold and wait for at that moment goes to the other's. */
static void test_one_ends_and_the_other_goes_on(void **state)
{
    struct volt_join join[TASKS];

    (void)state;
    spawn_takers(join);
    assert_int_equal(volt_runtime_shutdown(rt[0], UINT64_MAX), 0);
    for (int i = 0; i < TASKS; i++) {
        int r = volt_join_wait(&join[i]);

        assert_true(r == 0 || (i % 2 == 0 && r == -ECANCELED));
        volt_join_fini(&join[i]);
    }
    assert_int_equal(volt_sem_available(&sem), 2);
    assert_true(volt_mutex_try_lock(&mutex));
    volt_mutex_unlock(&mutex);
}

/* --- wakes to and fro, a join across, a value across -------------------------------- */

struct player {
    int at, me, round;
    struct volt_notified wait;
    struct volt_join *partner;
};

static enum volt_poll player_poll(struct volt_cx *cx, void *state)
{
    struct player *p = state;

    VOLT_BEGIN(p->at);
    for (p->round = 0; p->round < ROUNDS; p->round++) {
        volt_notified_init(&p->wait, &turn[p->me]);
        VOLT_AWAIT(p->at, volt_notified_poll(cx, &p->wait));
        volt_notify_one(&turn[!p->me]);
    }
    if (p->partner)
        VOLT_AWAIT(p->at, volt_join_poll(cx, p->partner));
    VOLT_END(p->at);
}

static void player_drop(void *state)
{
    struct player *p = state;

    volt_notified_fini(&p->wait);
    if (p->partner)
        volt_join_fini(p->partner);
}

static const struct volt_task_type player_type = {
    .name = "player",
    .size = sizeof(struct player),
    .poll = player_poll,
    .drop = player_drop,
};

static void test_wakes_and_joins_go_across(void **state)
{
    struct volt_join partner, join;
    struct player *p;

    (void)state;
    p = volt_task_new(rt[1], &player_type);
    p->me = 1;
    assert_int_equal(volt_task_spawn(p, &partner), 0);
    p = volt_task_new(rt[0], &player_type);
    p->me = 0;
    p->partner = &partner;
    assert_int_equal(volt_task_spawn(p, &join), 0);
    volt_notify_one(&turn[0]);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

static enum volt_poll receives(struct volt_cx *cx, struct fn_task *f)
{
    static struct volt_oneshot_recv recv;

    if (!recv.oneshot)
        volt_oneshot_recv_init(&recv, f->arg, &f->value);
    if (volt_oneshot_recv_poll(cx, &recv) == VOLT_PENDING)
        return VOLT_PENDING;
    FN_CHECK(volt_oneshot_recv_status(&recv) == 0 && f->value == 42);
    volt_oneshot_recv_fini(&recv);
    return VOLT_READY;
}

static enum volt_poll sends(struct volt_cx *cx, struct fn_task *f)
{
    int value = 42;

    (void)cx;
    FN_CHECK(volt_oneshot_try_send(f->arg, &value) == 0);
    return VOLT_READY;
}

static void test_a_value_goes_across(void **state)
{
    struct volt_oneshot *o = volt_oneshot_new(sizeof(int));
    struct volt_join join;

    (void)state;
    assert_non_null(o);
    assert_int_equal(fn_spawn(rt[0], receives, o, &join), 0);
    assert_int_equal(fn_spawn(rt[1], sends, o, NULL), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

/* --- fork --------------------------------------------------------------------------- */

static enum volt_poll nothing(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)f;
    return VOLT_READY;
}

/* In the child: a runtime of its own, all the way. */
static int child(void)
{
    struct volt_runtime *own = runtime(2);
    struct volt_join join;
    int r;

    if (fn_spawn(own, nothing, NULL, &join) < 0)
        return 1;
    r = volt_join_wait(&join);
    volt_join_fini(&join);
    volt_runtime_free(own);
    return r == 0 ? 0 : 2;
}

static void expect_success_of(pid_t pid)
{
    int status;

    FN_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    FN_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static enum volt_poll forks(struct volt_cx *cx, struct fn_task *f)
{
    pid_t pid = fork();

    (void)cx;
    (void)f;
    if (pid == 0)
        _exit(child());
    expect_success_of(pid);
    return VOLT_READY;
}

/* From a thread that is no worker, and in the middle of a poll. The parent's runtime does
 * not notice; what it had open, the child inherits and leaves alone. */
static void test_a_forked_child_has_runtimes_of_its_own(void **state)
{
    struct volt_join join;
    pid_t pid;

    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* ThreadSanitizer allows no threads in the child of many threads */
#endif
    assert_int_equal(fn_spawn(rt[0], nothing, NULL, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    pid = fork();
    if (pid == 0)
        _exit(child());
    expect_success_of(pid);
    assert_int_equal(fn_spawn(rt[1], forks, NULL, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        T(test_F_D2_tasks_of_two_runtimes_share_locks),
        T(test_one_ends_and_the_other_goes_on),
        T(test_wakes_and_joins_go_across),
        T(test_a_value_goes_across),
        T(test_a_forked_child_has_runtimes_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

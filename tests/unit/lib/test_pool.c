/* The pool for blocking calls. */
#include "base/atomic.h"
#include "runtime/runtime.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct volt_runtime *rt;
static vat_u32 flag, count, drops, stood;

static int setup(void **state)
{
    struct volt_options opt = {
        .workers = 1, .max_blocking_threads = 3, .thread_name = "a-rather-long-name"};

    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    vat_u32_init(&drops, 0);
    vat_u32_init(&stood, 0);
    return volt_runtime_new(&opt, &rt);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

static void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
}

static int spawn_blocking(enum volt_poll (*poll)(struct volt_cx *, struct fn_task *),
                          void *arg, struct volt_join *join)
{
    return volt_task_spawn_blocking(fn_task_new(rt, poll, arg), join);
}

static enum volt_poll blocks(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    vat_u32_add(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    f->value = 42;
    return VOLT_READY;
}

static enum volt_poll looks_around(struct volt_cx *cx, struct fn_task *f)
{
    char name[16];
    sigset_t set;

    FN_CHECK(volt_cx_runtime(cx) == rt);
    for (int i = 0; i < 1000; i++) /* no budget here */
        FN_CHECK(volt_coop_take(cx) == VOLT_READY);
    FN_CHECK(pthread_getname_np(pthread_self(), name, sizeof(name)) == 0);
    FN_CHECK(strcmp(name, "a-rather-l-pool") == 0);
    FN_CHECK(pthread_sigmask(SIG_SETMASK, NULL, &set) == 0);
    FN_CHECK(sigismember(&set, SIGTERM) && sigismember(&set, SIGCHLD));
    f->value = 7;
    return VOLT_READY;
}

static enum volt_poll awaits_blocking(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    FN_CHECK(spawn_blocking(looks_around, NULL, &f->join) == 0);
    VOLT_AWAIT(f->at, volt_join_poll(cx, &f->join));
    f->value = ((struct fn_task *)volt_join_state(&f->join))->value;
    volt_join_fini(&f->join);
    VOLT_END(f->at);
}

static void a_task_awaits_a_blocking_call(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    assert_int_equal(fn_spawn(rt, awaits_blocking, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    assert_int_equal(((struct fn_task *)volt_join_state(&j))->value, 7);
    volt_join_fini(&j);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.spawned, 2);
    assert_int_equal(st.completed, 2);
    assert_int_equal(st.blocking_threads, 1);
}

static void blocking_calls_run_beside_each_other_up_to_the_limit(void **state)
{
    struct volt_join j[5];
    struct volt_stats st;

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(spawn_blocking(blocks, NULL, &j[i]), 0);
    wait_count(3);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.blocking_threads, 3);
    assert_int_equal(st.live, 5);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 3);
    vat_u32_store(&flag, 1, VAT_REL);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(volt_join_wait(&j[i]), 0);
        assert_int_equal(((struct fn_task *)volt_join_state(&j[i]))->value, 42);
        volt_join_fini(&j[i]);
    }
}

static void wait_idle(void)
{
    unsigned idle;

    do {
        pthread_mutex_lock(&rt->pool.lock);
        idle = rt->pool.idle;
        pthread_mutex_unlock(&rt->pool.lock);
    } while (idle == 0);
}

static void one_idle_thread_does_not_answer_for_two_calls(void **state)
{
    struct volt_join j;

    (void)state;
    assert_int_equal(spawn_blocking(looks_around, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    volt_join_fini(&j);
    wait_idle();
    for (int i = 0; i < 3; i++)
        assert_int_equal(spawn_blocking(blocks, NULL, NULL), 0);
    wait_count(3);
    vat_u32_store(&flag, 1, VAT_REL);
}

static void counts_drop(struct fn_task *f)
{
    (void)f;
    vat_u32_add(&drops, 1, VAT_RLX);
}

/* From then on no thread can be made, for its stack would be too large. */
static void no_more_threads(pthread_attr_t *ret_before)
{
    pthread_attr_t huge;

    FN_CHECK(pthread_getattr_default_np(ret_before) == 0);
    FN_CHECK(pthread_getattr_default_np(&huge) == 0);
    FN_CHECK(pthread_attr_setstacksize(&huge, (size_t)1 << 47) == 0);
    FN_CHECK(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
}

static void threads_again(pthread_attr_t *before)
{
    FN_CHECK(pthread_setattr_default_np(before) == 0);
    pthread_attr_destroy(before);
}

/* One that is refused is not run by the thread that comes for the next one. */
static void refused_then_accepted(void)
{
    struct fn_task *f = fn_task_new(rt, blocks, NULL);
    uint32_t before_count = vat_u32_load(&count, VAT_ACQ);
    pthread_attr_t before;
    struct volt_join j;

    f->drop = counts_drop;
    no_more_threads(&before);
    int r = volt_task_spawn_blocking(f, &j);
    threads_again(&before);
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(volt_join_wait(&j), -ECANCELED);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    assert_int_equal(rt->pool.queue.count, 0);
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(spawn_blocking(blocks, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), before_count + 1);
}

static void without_a_thread_the_task_ends_as_cancelled(void **state)
{
    (void)state;
    refused_then_accepted();
}

/* arg: a handle to wait for, or NULL. */
static void calls(void *arg)
{
    if (arg)
        FN_CHECK(volt_join_wait(arg) == 0);
    vat_u32_add(&count, 1, VAT_REL);
}

static enum volt_poll blocks_in_place(struct volt_cx *cx, struct fn_task *f)
{
    volt_block_in_place(cx, calls, f->arg);
    f->value = cx->worker != NULL;
    return VOLT_READY;
}

/* One that has not begun is in the queue, also when the call has ended that it was for. */
static void wait_for_stand_in(void)
{
    bool begun = false;

    while (!begun) {
        vat_pause();
        pthread_mutex_lock(&rt->pool.lock);
        begun = rt->pool.queue.count == 0;
        pthread_mutex_unlock(&rt->pool.lock);
    }
}

/* Its thread plays the worker, for good, and comes to no task. */
static void a_stand_in_answers_for_no_task(void **state)
{
    struct volt_join j;

    (void)state;
    assert_int_equal(fn_spawn(rt, blocks_in_place, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    assert_false(((struct fn_task *)volt_join_state(&j))->value);
    volt_join_fini(&j);
    wait_for_stand_in();
    refused_then_accepted();
}

static enum volt_poll raises_stood(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)f;
    vat_u32_store(&stood, 1, VAT_REL);
    return VOLT_READY;
}

static void until_flag(void *arg)
{
    (void)arg;
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
}

static enum volt_poll gives_way(struct volt_cx *cx, struct fn_task *f)
{
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), raises_stood, NULL, NULL) == 0);
    volt_block_in_place(cx, until_flag, f->arg);
    return VOLT_READY;
}

/* The new thread begins with the stand-in, not with a call that has waited longer. */
static void a_stand_in_comes_before_calls_that_wait(void **state)
{
    enum { LIMIT = 3, CALLS = LIMIT + 2 };

    (void)state;
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(spawn_blocking(blocks, NULL, NULL), 0);
    wait_count(LIMIT);
    assert_int_equal(fn_spawn(rt, gives_way, NULL, NULL), 0);
    while (!vat_u32_load(&stood, VAT_ACQ) && vat_u32_load(&count, VAT_ACQ) == LIMIT)
        vat_pause();
    uint32_t begun = vat_u32_load(&count, VAT_ACQ);
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(begun, LIMIT);
}

/* The call is made all the same, and may wait; and the worker goes on with other
 * tasks. */
static void without_a_stand_in_the_worker_keeps_its_thread(void **state)
{
    pthread_attr_t before;
    struct volt_join j, ended;

    (void)state;
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(fn_spawn(rt, blocks, NULL, &ended), 0);
    assert_int_equal(volt_join_wait(&ended), 0);
    vat_u32_store(&count, 0, VAT_REL);
    no_more_threads(&before);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(fn_spawn(rt, blocks_in_place, &ended, &j), 0);
        int r = volt_join_wait(&j);
        int kept = ((struct fn_task *)volt_join_state(&j))->value;
        volt_join_fini(&j);
        assert_int_equal(r, 0);
        assert_true(kept);
        assert_int_equal(vat_u32_load(&count, VAT_ACQ), i);
    }
    threads_again(&before);
    volt_join_fini(&ended);
    assert_int_equal(rt->pool.threads, 0);
}

struct within {
    struct volt_cx *cx;
    pthread_attr_t threads;
};

/* Threads can be made again when the call within the call is. */
static void calls_within(void *arg)
{
    struct within *in = arg;

    threads_again(&in->threads);
    volt_block_in_place(in->cx, calls, NULL);
    FN_CHECK(!worker_current());
}

static enum volt_poll blocks_within(struct volt_cx *cx, struct fn_task *f)
{
    struct within in = {.cx = cx};

    no_more_threads(&in.threads);
    volt_block_in_place(cx, calls_within, &in);
    f->value = worker_current() && worker_current() == cx->worker;
    return VOLT_READY;
}

/* Two threads that play one worker would run its tasks twice. */
static void a_call_within_a_call_leaves_the_worker_where_it_is(void **state)
{
    struct volt_join j;

    (void)state;
    assert_int_equal(fn_spawn(rt, blocks_within, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    assert_true(((struct fn_task *)volt_join_state(&j))->value);
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 1);
    assert_int_equal(rt->pool.threads, 0);
}

static void one_that_has_not_begun_can_be_cancelled(void **state)
{
    struct volt_join j[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(spawn_blocking(blocks, NULL, &j[i]), 0);
    wait_count(3);
    volt_join_cancel(&j[3]);
    volt_join_cancel(&j[0]); /* running: goes on to its end */
    vat_u32_store(&flag, 1, VAT_REL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(volt_join_wait(&j[i]), i == 3 ? -ECANCELED : 0);
        volt_join_fini(&j[i]);
    }
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 3);
}

static void shutdown_waits_for_the_running_ones(void **state)
{
    (void)state;
    assert_int_equal(spawn_blocking(blocks, NULL, NULL), 0);
    wait_count(1);
    assert_int_equal(volt_runtime_shutdown(rt, 1000), -ETIMEDOUT);
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
}

/* By itself, with a short patience. */
static void idle_threads_go_and_others_come(void **state)
{
    struct pool p;

    (void)state;
    assert_int_equal(pool_init(&p, 4, "test"), 0);
    p.idle_ns = 1000000;
    vat_u32_store(&flag, 1, VAT_REL);
    for (uint32_t i = 1; i <= 3; i++) {
        struct volt_task *t = task_of(fn_task_new(rt, blocks, NULL));

        vat_u64_store(&t->state, TASK_NOTIFIED | TASK_REF_ONE, VAT_RLX);
        assert_int_equal(pool_submit(&p, t), 0);
        wait_count(i);
        while (vat_u32_load(&p.running, VAT_ACQ) > 0)
            vat_pause();
    }
    pool_fini(&p);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_task_awaits_a_blocking_call),
        T(blocking_calls_run_beside_each_other_up_to_the_limit),
        T(one_idle_thread_does_not_answer_for_two_calls),
        T(without_a_thread_the_task_ends_as_cancelled),
        T(a_stand_in_answers_for_no_task),
        T(a_stand_in_comes_before_calls_that_wait),
        T(without_a_stand_in_the_worker_keeps_its_thread),
        T(a_call_within_a_call_leaves_the_worker_where_it_is),
        T(one_that_has_not_begun_can_be_cancelled),
        T(shutdown_waits_for_the_running_ones),
        T(idle_threads_go_and_others_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

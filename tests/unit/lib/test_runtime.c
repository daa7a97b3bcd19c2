/* The runtime as a whole, on real threads: tasks from their spawning to their end. Nothing
 * here depends on time: a promise that is not kept hangs the test. Named by the flaws of
 * the Volt documentation: F-A10 (local spawns go through the global queue), F-D2 (wakes
 * across runtimes), F-H8 (too many workers), F-I1 and F-I11 (cancel), F-I7 (joins that
 * nobody wakes). Who runs next: test_fairness.c. */
#include "tests/support/polls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static void counts_drop(struct fn_task *f)
{
    (void)f;
    vat_u32_add(&drops, 1, VAT_RLX);
}

static enum volt_poll hogs_gently(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        sched_yield();
    return VOLT_READY;
}

static enum volt_poll waits_for_ever(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    return VOLT_PENDING;
}

/* --- running ------------------------------------------------------------------------ */

static void a_task_runs_and_is_joined(void **state)
{
    struct volt_join j;
    struct fn_task *f;

    (void)state;
    rt = runtime(2);
    f = fn_task_new(rt, counts, NULL);
    f->drop = counts_drop;
    f->drop_output = counts_drop;
    assert_int_equal(volt_task_spawn(f, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    assert_int_equal(volt_join_status(&j), 0);
    assert_int_equal(((struct fn_task *)volt_join_state(&j))->value, 42);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1); /* the state */
    volt_join_fini(&j);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 2); /* the output */
    volt_join_fini(&j);
}

static void a_discarded_state_never_runs(void **state)
{
    (void)state;
    rt = runtime(1);
    volt_task_discard(fn_task_new(rt, counts, NULL));
    volt_task_discard(NULL);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 0);
}

static void detached_tasks_all_run(void **state)
{
    struct volt_stats st;

    (void)state;
    rt = runtime(4);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(fn_spawn(rt, counts, NULL, NULL), 0);
    wait_count(5000);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.spawned, 5000);
    assert_int_equal(st.completed, 5000);
}

static enum volt_poll spawns_100(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    for (int i = 0; i < 100; i++)
        FN_CHECK(fn_spawn(volt_cx_runtime(cx), counts, NULL, NULL) == 0);
    return VOLT_READY;
}

static void f_a10_local_spawns_stay_local(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, spawns_100, NULL, &j), 0);
    join(&j, 0);
    wait_count(100);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.total.global_batch_fetches, 1);
}

static void idle_workers_steal(void **state)
{
    struct volt_join j, child;
    struct volt_stats st;

    (void)state;
    rt = runtime(2);
    /* All workers but one are in one poll until the flag; the one that raises it must get
     * at it, wherever it was queued. */
    assert_int_equal(fn_spawn(rt, hogs, NULL, &j), 0);
    assert_int_equal(fn_spawn(rt, raise_flag, NULL, &child), 0);
    join(&child, 0);
    join(&j, 0);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.completed, 2);
}

/* --- join and cancel ---------------------------------------------------------------- */

static enum volt_poll joins_a_child(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), f->arg ? wakes_itself : counts, NULL,
                      &f->join) == 0);
    VOLT_AWAIT(f->at, volt_join_poll(cx, &f->join));
    f->value = volt_join_status(&f->join);
    volt_join_fini(&f->join);
    VOLT_END(f->at);
}

static void f_i7_a_task_that_joins_is_woken(void **state)
{
    struct volt_join j[2], up;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, joins_a_child, NULL, &j[0]), 0);
    assert_int_equal(fn_spawn(rt, joins_a_child, &up, &j[1]), 0);
    join(&j[0], 0);
    assert_int_equal(fn_spawn(rt, raise_flag, NULL, &up), 0);
    join(&up, 0);
    join(&j[1], 0);
}

static void f_i1_f_i11_cancelling_a_waiting_task_ends_it(void **state)
{
    struct volt_join j;
    struct fn_task *f;
    struct volt_stats st;

    (void)state;
    rt = runtime(2);
    f = fn_task_new(rt, waits_for_ever, NULL);
    f->drop = counts_drop;
    assert_int_equal(volt_task_spawn(f, &j), 0);
    wait_count(1);
    assert_int_equal(volt_join_status(&j), -EINPROGRESS);
    volt_join_cancel(&j);
    volt_join_cancel(&j);
    join(&j, -ECANCELED);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.cancelled, 1);
    assert_int_equal(st.live, 0);
}

static void a_handle_given_up_leaves_the_task_running(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, wakes_itself, NULL, &j), 0);
    volt_join_fini(&j);
    assert_int_equal(fn_spawn(rt, raise_flag, NULL, &j), 0);
    join(&j, 0);
}

static enum volt_poll wakes_other_runtime(struct volt_cx *cx, struct fn_task *f)
{
    struct volt_waker *w = f->arg;

    (void)cx;
    vat_u32_store(&flag, 1, VAT_REL);
    volt_waker_wake(w);
    return VOLT_READY;
}

static enum volt_poll waits_for_flag(struct volt_cx *cx, struct fn_task *f)
{
    if (vat_u32_load(&flag, VAT_ACQ))
        return VOLT_READY;
    if (!f->at) {
        f->at = 1;
        *(struct volt_waker *)f->arg = volt_waker_new(cx);
        vat_u32_store(&count, 1, VAT_REL);
    }
    return VOLT_PENDING;
}

static void f_d2_a_task_is_woken_by_a_worker_of_another_runtime(void **state)
{
    struct volt_runtime *other = runtime(1);
    struct volt_join j, k;
    struct volt_waker w;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, waits_for_flag, &w, &j), 0);
    wait_count(1);
    assert_int_equal(fn_spawn(other, wakes_other_runtime, &w, &k), 0);
    join(&k, 0);
    join(&j, 0);
    volt_waker_fini(&w);
    volt_runtime_free(other);
}

/* More than one word of the idle set holds: 50 polls that last must all have a worker. */
static void f_h8_more_workers_than_bits_form_groups(void **state)
{
    enum { HOGS = 50 };
    struct volt_options opt = {.workers = VOLT_MAX_WORKERS + 1};
    struct volt_join j[HOGS];
    struct volt_runtime *r = NULL;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &r), -EINVAL);
    assert_null(r);
    rt = runtime(52);
    assert_int_equal(volt_runtime_workers(rt), 52);
    for (int i = 0; i < HOGS; i++)
        assert_int_equal(fn_spawn(rt, hogs_gently, NULL, &j[i]), 0);
    while (vat_u32_load(&count, VAT_ACQ) < HOGS)
        sched_yield();
    vat_u32_store(&flag, 1, VAT_REL);
    for (int i = 0; i < HOGS; i++)
        join(&j[i], 0);
}

/* --- many at once ------------------------------------------------------------------- */

static enum volt_poll spawns_many(struct volt_cx *cx, struct fn_task *f)
{
    enum { MANY = 300 }; /* more than the ring holds */
    void *states[MANY];

    (void)f;
    for (int i = 0; i < MANY; i++) {
        struct fn_task *one = fn_task_new(volt_cx_runtime(cx), counts, NULL);

        one->drop = counts_drop;
        states[i] = one;
    }
    FN_CHECK(volt_task_spawn_all(states, MANY) == 0);
    return VOLT_READY;
}

static void many_are_spawned_at_once(void **state)
{
    void *states[10];
    struct volt_join j;

    (void)state;
    rt = runtime(2);
    assert_int_equal(volt_task_spawn_all(NULL, 0), 0);
    assert_int_equal(fn_spawn(rt, spawns_many, NULL, &j), 0);
    join(&j, 0);
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 10; i++) {
            struct fn_task *f = fn_task_new(rt, counts, NULL);

            f->drop = counts_drop;
            states[i] = f;
        }
        assert_int_equal(volt_task_spawn_all(states, 10), round == 1 ? 0 : -ESHUTDOWN);
        if (round == 1)
            wait_count(310);
        assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    }
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 320);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 310);
}

#define T(f) cmocka_unit_test_setup_teardown(f, polls_setup, polls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_task_runs_and_is_joined),
        T(a_discarded_state_never_runs),
        T(detached_tasks_all_run),
        T(f_a10_local_spawns_stay_local),
        T(idle_workers_steal),
        T(f_i7_a_task_that_joins_is_woken),
        T(f_i1_f_i11_cancelling_a_waiting_task_ends_it),
        T(a_handle_given_up_leaves_the_task_running),
        T(f_d2_a_task_is_woken_by_a_worker_of_another_runtime),
        T(f_h8_more_workers_than_bits_form_groups),
        T(many_are_spawned_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

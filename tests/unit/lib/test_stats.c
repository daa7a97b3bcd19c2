/* Statistics mean exactly what volt/runtime.h says (T-1..T-3). Named by the flaws of
 * the Volt documentation: F-K1 (lifo_hits counts pushes), F-K2 (stolen counts fetches
 * from the global queue), F-K3 (parked counts attempts). */
#include "base/atomic.h"
#include "runtime/runtime.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static struct volt_runtime *rt;
static vat_u32 flag, count;

static int setup(void **state)
{
    struct volt_options opt = {.workers = 1, .seed = 1};

    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    return volt_runtime_new(&opt, &rt);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    return 0;
}

/* Of the only worker, when it is asleep again. */
static struct volt_worker_stats at_rest(void)
{
    struct volt_worker_stats w;
    struct volt_stats st;

    do
        volt_runtime_stats(rt, &st);
    while (st.live || !st.workers_parked);
    assert_int_equal(volt_worker_stats(rt, 0, &w), 0);
    return w;
}

static enum volt_poll ready(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_RLX);
    return VOLT_READY;
}

static enum volt_poll pending_twice(struct volt_cx *cx, struct fn_task *f)
{
    if (f->at++ == 2)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
}

/* Its one child stays in the slot. */
static enum volt_poll spawns_one(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), ready, NULL, NULL) == 0);
    return VOLT_READY;
}

/* Of 300 the last is in the slot; 256 fill the ring, and one more overflows it. */
static enum volt_poll spawns_300(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    for (int i = 0; i < 300; i++)
        FN_CHECK(fn_spawn(volt_cx_runtime(cx), ready, NULL, NULL) == 0);
    return VOLT_READY;
}

static void polled_counts_polls_not_cancelled_starts(void **state)
{
    struct volt_join hog, j;

    (void)state;
    assert_int_equal(fn_spawn(rt, pending_twice, NULL, NULL), 0);
    assert_int_equal(at_rest().polled, 3);
    assert_int_equal(fn_spawn(rt, hogs, NULL, &hog), 0);
    while (!vat_u32_load(&count, VAT_ACQ))
        vat_pause();
    assert_int_equal(fn_spawn(rt, ready, NULL, &j), 0);
    volt_join_cancel(&j);
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(volt_join_wait(&j), -ECANCELED);
    volt_join_fini(&j);
    volt_join_fini(&hog);
    assert_int_equal(at_rest().polled, 4);
}

static void f_k1_lifo_hits_are_polls_from_the_slot(void **state)
{
    (void)state;
    assert_int_equal(fn_spawn(rt, spawns_one, NULL, NULL), 0);
    assert_int_equal(at_rest().lifo_hits, 1);
    assert_int_equal(fn_spawn(rt, spawns_300, NULL, NULL), 0);
    assert_int_equal(at_rest().lifo_hits, 2); /* though 300 were pushed there */
}

static void f_k2_fetches_are_no_thefts(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(fn_spawn(rt, ready, NULL, NULL), 0);
    struct volt_worker_stats w = at_rest();
    assert_int_equal(w.stolen, 0);
    assert_int_equal(w.steal_ops, 0);
    assert_in_range(w.global_batch_fetches, 1, 10);
}

static void f_k3_parked_counts_sleeps(void **state)
{
    (void)state;
    uint64_t before = at_rest().parked;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fn_spawn(rt, ready, NULL, NULL), 0);
        (void)at_rest();
    }
    /* Each spawn woke it once; the last sleep may be announced and not yet begun. */
    assert_in_range(at_rest().parked, before + 4, before + 6);
}

static void overflows_are_counted_and_their_tasks_run(void **state)
{
    (void)state;
    assert_int_equal(fn_spawn(rt, spawns_300, NULL, NULL), 0);
    struct volt_worker_stats w = at_rest();
    struct volt_stats st;
    assert_int_equal(w.overflows, 1);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.total.overflows, 1);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 300);
    assert_int_equal(w.polled, 301);
    assert_true(w.global_batch_fetches >= 2);
}

static void averages_and_depths(void **state)
{
    struct volt_stats st;
    struct volt_worker_stats w;

    (void)state;
    assert_int_equal(fn_spawn(rt, spawns_300, NULL, NULL), 0);
    w = at_rest();
    assert_in_range(w.avg_task_ns, 1, 50000000);
    assert_in_range(w.global_queue_interval, 8, 255);
    assert_int_equal(w.ring_depth, 0);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.global_depth, 0);
    assert_int_equal(st.spawned, 301);
    assert_int_equal(st.total.polled, 301);
    assert_int_equal(st.workers, 1);
    assert_int_equal(volt_worker_stats(rt, 1, &w), -EINVAL);
}

static void a_stuck_poll_is_named(void **state)
{
    struct volt_worker_stats w;
    struct volt_stats st;
    struct volt_join j;

    (void)state;
    assert_int_equal(fn_spawn(rt, hogs, NULL, &j), 0);
    do
        volt_worker_stats(rt, 0, &w);
    while (!w.stuck);
    assert_string_equal(w.stuck_task, "fn");
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.total.stuck, 1);
    vat_u32_store(&flag, 1, VAT_REL);
    volt_join_wait(&j);
    volt_join_fini(&j);
    w = at_rest();
    assert_int_equal(w.stuck, 0);
    assert_null(w.stuck_task);
    assert_true(w.longest_poll_usec >= 100000);
    assert_true(w.long_polls >= 1);
    assert_string_equal(w.longest_task, "fn");
}

/* A worker of an idle runtime rescues nothing: the test writes its counter. */
static void rescues_are_summed_over_workers(void **state)
{
    struct volt_options opt = {.workers = 3};
    struct volt_runtime *many;
    struct volt_stats st;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &many), 0);
    for (uint32_t i = 0; i < 3; i++)
        vat_u64_store(&many->sched.worker[i].count.rescues, i + 2, VAT_RLX);
    volt_runtime_stats(many, &st);
    assert_int_equal(st.total.rescues, 2 + 3 + 4);
    volt_runtime_free(many);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(polled_counts_polls_not_cancelled_starts),
        T(f_k1_lifo_hits_are_polls_from_the_slot),
        T(f_k2_fetches_are_no_thefts),
        T(f_k3_parked_counts_sleeps),
        T(overflows_are_counted_and_their_tasks_run),
        T(averages_and_depths),
        T(a_stuck_poll_is_named),
        T(rescues_are_summed_over_workers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

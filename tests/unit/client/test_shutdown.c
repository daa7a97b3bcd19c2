/* The end of a runtime. Named by the flaws of the Volt documentation: F-L1 (queued
 * tasks never complete), F-L2 (idle tasks leak), F-L3 (wakers outlive the scheduler),
 * F-L4 (spawn after shutdown), F-L6 (tasks woken by destructors during the drain), F-I2
 * (shielded tasks). */
#include "base/atomic.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

static struct volt_runtime *rt;
static vat_u32 flag, count, drops;
static struct volt_waker waker[2];

static struct volt_runtime *runtime(unsigned workers)
{
    struct volt_options opt = {.workers = workers, .seed = 42};
    struct volt_runtime *r;

    assert_int_equal(volt_runtime_new(&opt, &r), 0);
    return r;
}

static int setup(void **state)
{
    (void)state;
    vat_u32_init(&flag, 0);
    vat_u32_init(&count, 0);
    vat_u32_init(&drops, 0);
    return 0;
}

static void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
}

static void counts_drop(struct fn_task *f)
{
    (void)f;
    vat_u32_add(&drops, 1, VAT_RLX);
}

static void spawn_dropping(enum volt_poll (*poll)(struct volt_cx *, struct fn_task *),
                           void (*drop)(struct fn_task *), void *arg,
                           struct volt_join *join)
{
    struct fn_task *f = fn_task_new(rt, poll, arg);

    f->drop = drop;
    assert_int_equal(volt_task_spawn(f, join), 0);
}

static enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
}

static enum volt_poll waits_for_ever(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    return VOLT_PENDING;
}

static enum volt_poll leaves_a_waker(struct volt_cx *cx, struct fn_task *f)
{
    *(struct volt_waker *)f->arg = volt_waker_new(cx);
    vat_u32_add(&count, 1, VAT_REL);
    return VOLT_PENDING;
}

static void an_empty_runtime_ends_and_null_is_allowed(void **state)
{
    (void)state;
    volt_runtime_free(NULL);
    rt = runtime(3);
    assert_int_equal(volt_runtime_shutdown(rt, 0), 0);
    assert_int_equal(volt_runtime_shutdown(rt, 0), 0);
    volt_runtime_free(rt);
}

static void f_l1_queued_tasks_end_and_joiners_resolve(void **state)
{
    enum { QUEUED = 400 };
    struct volt_join hog, j[QUEUED];

    (void)state;
    rt = runtime(1);
    spawn_dropping(hogs, counts_drop, NULL, &hog);
    wait_count(1);
    for (int i = 0; i < QUEUED; i++)
        spawn_dropping(waits_for_ever, counts_drop, NULL, &j[i]);
    assert_int_equal(volt_runtime_shutdown(rt, 1000), -ETIMEDOUT); /* a poll still runs */
    vat_u32_store(&flag, 1, VAT_REL);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(volt_join_wait(&hog), 0); /* it had its answer */
    volt_join_fini(&hog);
    for (int i = 0; i < QUEUED; i++) {
        assert_int_equal(volt_join_wait(&j[i]), -ECANCELED);
        volt_join_fini(&j[i]);
    }
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 1); /* none was polled */
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), QUEUED + 1);
    volt_runtime_free(rt);
}

static void f_l2_waiting_tasks_are_dropped(void **state)
{
    (void)state;
    rt = runtime(2);
    for (int i = 0; i < 50; i++)
        spawn_dropping(waits_for_ever, counts_drop, NULL, NULL);
    wait_count(50);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 50);
}

static enum volt_poll waits_for_a_timer(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    volt_sleep_init(&f->sleep, UINT64_C(3600) * 1000000);
    vat_u32_add(&count, 1, VAT_REL);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    VOLT_END(f->at);
}

static void timer_drop(struct fn_task *f)
{
    volt_sleep_fini(&f->sleep);
    counts_drop(f);
}

static void timers_do_not_delay_the_end(void **state)
{
    (void)state;
    rt = runtime(2);
    for (int i = 0; i < 50; i++)
        spawn_dropping(waits_for_a_timer, timer_drop, NULL, NULL);
    wait_count(50);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 50);
}

static void f_l3_wakers_outlive_the_runtime(void **state)
{
    (void)state;
    rt = runtime(2);
    spawn_dropping(leaves_a_waker, counts_drop, &waker[0], NULL);
    wait_count(1);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    waker[1] = volt_waker_ref(&waker[0]);
    volt_waker_wake(&waker[0]);
    volt_waker_fini(&waker[0]);
    volt_waker_wake(&waker[1]);
    volt_waker_fini(&waker[1]);
    volt_waker_fini(&waker[1]);
}

static void f_l4_spawning_after_the_end_ends_the_task(void **state)
{
    struct volt_join j;
    struct fn_task *f;

    (void)state;
    rt = runtime(1);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    f = fn_task_new(rt, waits_for_ever, NULL);
    f->drop = counts_drop;
    assert_int_equal(volt_task_spawn(f, &j), -ESHUTDOWN);
    assert_int_equal(volt_join_wait(&j), -ECANCELED);
    volt_join_fini(&j);
    f = fn_task_new(rt, waits_for_ever, NULL);
    f->drop = counts_drop;
    assert_int_equal(volt_task_spawn_blocking(f, NULL), -ESHUTDOWN);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 2);
    assert_int_equal(vat_u32_load(&count, VAT_ACQ), 0);
    volt_runtime_free(rt);
}

static void wakes_another_drop(struct fn_task *f)
{
    struct fn_task *more = fn_task_new(rt, waits_for_ever, NULL);

    volt_waker_wake(&waker[f->arg == &waker[0]]);
    more->drop = counts_drop;
    FN_CHECK(volt_task_spawn(more, NULL) == -ESHUTDOWN);
    counts_drop(f);
}

static void f_l6_destructors_may_wake_and_spawn(void **state)
{
    (void)state;
    rt = runtime(2);
    for (int i = 0; i < 2; i++)
        spawn_dropping(leaves_a_waker, wakes_another_drop, &waker[i], NULL);
    wait_count(2);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 4);
    for (int i = 0; i < 2; i++)
        volt_waker_fini(&waker[i]);
}

/* Shielded over two waits, then not: cancelled at its next start. */
static enum volt_poll waits_shielded(struct volt_cx *cx, struct fn_task *f)
{
    if (f->at == 0) {
        f->at = 1;
        volt_shield_begin(cx);
        waker[0] = volt_waker_new(cx);
        vat_u32_add(&count, 1, VAT_REL);
    }
    if (!vat_u32_load(&flag, VAT_ACQ))
        return VOLT_PENDING;
    f->value = 1;
    volt_shield_end(cx);
    return VOLT_PENDING;
}

static void shielded_drop(struct fn_task *f)
{
    FN_CHECK(f->value == 1); /* it was let through its critical section */
    counts_drop(f);
}

static void f_i2_a_shielded_task_finishes_its_section_first(void **state)
{
    (void)state;
    rt = runtime(2);
    spawn_dropping(waits_shielded, shielded_drop, NULL, NULL);
    wait_count(1);
    assert_int_equal(volt_runtime_shutdown(rt, 1000), -ETIMEDOUT);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 0);
    vat_u32_store(&flag, 1, VAT_REL);
    volt_waker_wake(&waker[0]);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
    volt_waker_fini(&waker[0]);
    volt_runtime_free(rt);
}

static enum volt_poll sleeps_shielded(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    volt_shield_begin(cx);
    volt_sleep_init(&f->sleep, UINT64_C(3600) * 1000000);
    vat_u32_add(&count, 1, VAT_REL);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    f->value = 1;
    volt_shield_end(cx);
    VOLT_END(f->at);
}

static void sleeps_shielded_drop(struct fn_task *f)
{
    volt_sleep_fini(&f->sleep);
    shielded_drop(f);
}

static void timers_of_shielded_tasks_are_answered(void **state)
{
    (void)state;
    rt = runtime(2);
    spawn_dropping(sleeps_shielded, sleeps_shielded_drop, NULL, NULL);
    wait_count(1);
    volt_runtime_free(rt);
    assert_int_equal(vat_u32_load(&drops, VAT_ACQ), 1);
}

/* Spawns against the shutdown: every one ends, accepted or not. */
static vat_u32 accepted, refused;

static void *spawns_until_refused(void *arg)
{
    int r;

    (void)arg;
    do {
        struct fn_task *f = fn_task_new(rt, waits_for_ever, NULL);

        f->drop = counts_drop;
        r = volt_task_spawn(f, NULL);
        vat_u32_add(r ? &refused : &accepted, 1, VAT_RLX);
    } while (r == 0);
    return NULL;
}

static void concurrent_spawns_are_accepted_or_refused_never_lost(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t thread[2];

        setup(NULL);
        vat_u32_init(&accepted, 0);
        vat_u32_init(&refused, 0);
        rt = runtime(2);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, spawns_until_refused, NULL),
                             0);
        wait_count(50);
        assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        struct volt_stats st;
        volt_runtime_stats(rt, &st);
        volt_runtime_free(rt);
        assert_int_equal(vat_u32_load(&refused, VAT_ACQ), 2);
        assert_int_equal(st.spawned, vat_u32_load(&accepted, VAT_ACQ));
        assert_int_equal(st.cancelled, st.spawned);
        assert_int_equal(vat_u32_load(&drops, VAT_ACQ),
                         vat_u32_load(&accepted, VAT_ACQ) + 2);
    }
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_empty_runtime_ends_and_null_is_allowed),
        T(f_l1_queued_tasks_end_and_joiners_resolve),
        T(f_l2_waiting_tasks_are_dropped),
        T(timers_do_not_delay_the_end),
        T(f_l3_wakers_outlive_the_runtime),
        T(f_l4_spawning_after_the_end_ends_the_task),
        T(f_l6_destructors_may_wake_and_spawn),
        T(f_i2_a_shielded_task_finishes_its_section_first),
        T(timers_of_shielded_tasks_are_answered),
        T(concurrent_spawns_are_accepted_or_refused_never_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

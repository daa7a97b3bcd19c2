/* Who runs next, on real threads: nobody starves, whoever is busy. Nothing here depends on
 * time: a promise that is not kept hangs the test. Named by the flaws of the Volt
 * documentation: F-A1 (global queue starved by local work), F-A4 (interval against
 * target), F-A6 (no budget per task), F-A7 (a self-wake is no yield), F-J1 (timers of a
 * worker in a long poll), F-K5 (wakes while idle), and its goals G7, L5, P5 and W5. */
#include "task/limits.h"
#include "tests/support/polls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Until every worker has polled that often: none of them runs out of work any more. */
static void all_busy(uint64_t polls)
{
    for (unsigned i = 0; i < volt_runtime_workers(rt); i++) {
        struct volt_worker_stats w;

        do
            assert_int_equal(volt_worker_stats(rt, i, &w), 0);
        while (w.polled < polls);
    }
}

static void f_a1_global_tasks_run_beside_busy_workers(void **state)
{
    struct volt_join hog[4], j;

    (void)state;
    rt = runtime(2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fn_spawn(rt, wakes_itself, NULL, &hog[i]), 0);
    all_busy(1000);
    assert_int_equal(fn_spawn(rt, raise_flag, NULL, &j), 0);
    join(&j, 0);
    for (int i = 0; i < 4; i++)
        join(&hog[i], 0);
}

/* Long ones, for ever. */
static enum volt_poll takes_its_time(struct volt_cx *cx, struct fn_task *f)
{
    uint64_t end = volt_now_usec() + 20;

    while (volt_now_usec() < end)
        vat_pause();
    vat_u32_add(&count, 1, VAT_REL);
    return wakes_itself(cx, f);
}

static enum volt_poll notes_the_count_and_ends_it(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    f->value = (int)vat_u32_load(&count, VAT_RLX);
    vat_u32_store(&flag, 1, VAT_REL);
    return VOLT_READY;
}

static void g7_a_task_from_outside_waits_for_a_poll_not_for_the_ring(void **state)
{
    struct volt_join hog[100], j;

    (void)state;
    rt = runtime(1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(fn_spawn(rt, takes_its_time, NULL, &hog[i]), 0);
    wait_count(1000);
    assert_int_equal(fn_spawn(rt, notes_the_count_and_ends_it, NULL, &j), 0);
    uint32_t queued_at = vat_u32_load(&count, VAT_ACQ); /* or before that */
    assert_int_equal(volt_join_wait(&j), 0);
    assert_in_range(((struct fn_task *)volt_join_state(&j))->value, 0, queued_at + 9);
    volt_join_fini(&j);
    for (int i = 0; i < 100; i++)
        join(&hog[i], 0);
}

/* Short polls until the flag is up, then long ones, which it counts. */
static enum volt_poll slows_down(struct volt_cx *cx, struct fn_task *f)
{
    if (vat_u32_load(&drops, VAT_ACQ))
        return VOLT_READY;
    if (vat_u32_load(&flag, VAT_ACQ)) {
        uint64_t end = volt_now_usec() + 2000;

        vat_u32_add(&count, 1, VAT_RLX);
        while (volt_now_usec() < end)
            vat_pause();
    }
    (void)f;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static enum volt_poll notes_the_count(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    f->value = (int)vat_u32_load(&count, VAT_RLX);
    vat_u32_store(&drops, 1, VAT_REL);
    return VOLT_READY;
}

static void f_a4_a_change_of_phase_does_not_keep_the_old_interval(void **state)
{
    struct volt_worker_stats w;
    struct volt_join slow, j;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, slows_down, NULL, &slow), 0);
    do
        volt_worker_stats(rt, 0, &w);
    while (w.global_queue_interval < 100); /* 255 on a quiet machine */
    vat_u32_store(&flag, 1, VAT_REL);
    wait_count(1);
    assert_int_equal(fn_spawn(rt, notes_the_count, NULL, &j), 0);
    uint32_t queued_at = vat_u32_load(&count, VAT_ACQ); /* or before that */
    assert_int_equal(volt_join_wait(&j), 0);
    /* 8 polls at most to the next look at the clock. */
    assert_in_range(((struct fn_task *)volt_join_state(&j))->value, 0, queued_at + 9);
    volt_join_fini(&j);
    join(&slow, 0);
}

/* Two tasks that wake each other through the LIFO slot, for ever. */
static struct volt_waker pair[2];

static enum volt_poll plays(struct volt_cx *cx, struct fn_task *f)
{
    int me = f->arg != NULL;

    if (!f->at) {
        f->at = 1;
        pair[me] = volt_waker_new(cx);
    }
    if (vat_u32_load(&flag, VAT_ACQ)) {
        volt_waker_wake(&pair[!me]);
        return VOLT_READY;
    }
    volt_waker_wake(&pair[!me]);
    return VOLT_PENDING;
}

static enum volt_poll starts_the_pair(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    for (int i = 0; i < 2; i++)
        FN_CHECK(fn_spawn(volt_cx_runtime(cx), plays, i ? &pair : NULL, NULL) == 0);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), raise_flag, NULL, NULL) == 0);
    return VOLT_READY;
}

static void l5_a_pair_in_the_slot_does_not_starve_the_ring(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(1);
    memset(pair, 0, sizeof(pair));
    assert_int_equal(fn_spawn(rt, starts_the_pair, NULL, &j), 0);
    join(&j, 0);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    volt_runtime_free(rt);
    rt = NULL;
    volt_waker_fini(&pair[0]);
    volt_waker_fini(&pair[1]);
}

static enum volt_poll takes_all_it_gets(struct volt_cx *cx, struct fn_task *f)
{
    int taken = 0;

    while (volt_coop_take(cx) == VOLT_READY)
        taken++;
    FN_CHECK(taken == VOLT_BUDGET_PER_POLL);
    f->at++;
    return vat_u32_load(&flag, VAT_ACQ) && f->at > 1 ? VOLT_READY : VOLT_PENDING;
}

static void f_a6_a_poll_has_a_budget(void **state)
{
    struct volt_join greedy, j;
    struct volt_worker_stats st;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, takes_all_it_gets, NULL, &greedy), 0);
    assert_int_equal(fn_spawn(rt, raise_flag, NULL, &j), 0);
    join(&j, 0);
    assert_int_equal(volt_join_wait(&greedy), 0);
    int at = ((struct fn_task *)volt_join_state(&greedy))->at;
    volt_join_fini(&greedy);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(volt_worker_stats(rt, 0, &st), 0);
    assert_int_equal(st.budget_exhausted, at); /* once per poll */
}

static enum volt_poll gives_back(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    for (int i = 0; i < 10 * VOLT_BUDGET_PER_POLL; i++) {
        FN_CHECK(volt_coop_take(cx) == VOLT_READY);
        volt_coop_restore(cx);
    }
    return VOLT_READY;
}

static void a_pending_leaf_gives_its_unit_back(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, gives_back, NULL, &j), 0);
    join(&j, 0);
}

/* Spawns two, wakes itself: runs again behind them. */
static enum volt_poll yields_to_two(struct volt_cx *cx, struct fn_task *f)
{
    if (f->at++ == 0) {
        for (int i = 0; i < 2; i++)
            FN_CHECK(fn_spawn(volt_cx_runtime(cx), counts, NULL, NULL) == 0);
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    f->value = (int)vat_u32_load(&count, VAT_RLX);
    return VOLT_READY;
}

static void f_a7_a_self_wake_lets_the_others_go_first(void **state)
{
    struct volt_join j;

    (void)state;
    rt = runtime(1);
    assert_int_equal(fn_spawn(rt, yields_to_two, NULL, &j), 0);
    assert_int_equal(volt_join_wait(&j), 0);
    assert_int_equal(((struct fn_task *)volt_join_state(&j))->value, 2);
    volt_join_fini(&j);
}

static enum volt_poll yields_on(struct volt_cx *cx, struct fn_task *f)
{
    if (f->at++ == 300000)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void a_task_that_yields_alone_wakes_nobody(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, yields_on, NULL, &j), 0);
    join(&j, 0);
    volt_runtime_stats(rt, &st);
    assert_int_equal(st.total.wakeups, 0);
}

/* Its children wait in its ring while it is in its poll: they must be stolen. */
static enum volt_poll hogs_over_children(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), raise_flag, NULL, NULL) == 0);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), counts, NULL, NULL) == 0);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
}

static void p5_children_behind_a_long_poll_are_stolen(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, hogs_over_children, NULL, &j), 0);
    join(&j, 0);
    volt_runtime_stats(rt, &st);
    /* The first, from the ring, or from the slot when its parent lost its processor before
     * it spawned the second; and perhaps the second. */
    assert_in_range(st.total.stolen, 1, 2);
    assert_int_equal(st.total.steal_ops, st.total.stolen);
}

/* --- timers and idleness ------------------------------------------------------------ */

static enum volt_poll sleeps_then_raises(struct volt_cx *cx, struct fn_task *f)
{
    VOLT_BEGIN(f->at);
    volt_sleep_init(&f->sleep, 3000);
    vat_u32_add(&count, 1, VAT_REL);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    vat_u32_store(&flag, 1, VAT_REL);
    VOLT_END(f->at);
}

static void f_j1_timers_fire_beside_a_long_poll(void **state)
{
    struct volt_join timer, hog;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, sleeps_then_raises, NULL, &timer), 0);
    wait_count(1);
    assert_int_equal(fn_spawn(rt, hogs, NULL, &hog), 0);
    join(&timer, 0);
    join(&hog, 0);
}

static void w5_timers_fire_beside_busy_workers(void **state)
{
    struct volt_join timer, busy[2];

    (void)state;
    rt = runtime(2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fn_spawn(rt, wakes_itself, NULL, &busy[i]), 0);
    all_busy(1000);
    assert_int_equal(fn_spawn(rt, sleeps_then_raises, NULL, &timer), 0);
    join(&timer, 0);
    for (int i = 0; i < 2; i++)
        join(&busy[i], 0);
}

static enum volt_poll arms_and_hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), hogs, NULL, NULL) == 0);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), sleeps_then_raises, NULL, NULL) == 0);
    return VOLT_READY; /* next the second, from the slot, then the first */
}

static void f_j1_busy_workers_fire_the_timers_of_one_in_a_long_poll(void **state)
{
    struct volt_join busy, j;

    (void)state;
    rt = runtime(2);
    assert_int_equal(fn_spawn(rt, wakes_itself, NULL, &busy), 0);
    assert_int_equal(fn_spawn(rt, arms_and_hogs, NULL, &j), 0);
    join(&j, 0);
    join(&busy, 0);
}

/* Context switches of all threads but this one; false: one of them does not sleep. */
static bool switches(unsigned long *ret_sum)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned long sum = 0, n;
    bool asleep = true;
    char state;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], line[200];

        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
            continue;
        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
        FILE *file = fopen(path, "re");
        while (file && fgets(line, sizeof(line), file)) {
            if (sscanf(line, "State: %c", &state) == 1)
                asleep &= state == 'S';
            if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1)
                sum += n;
        }
        if (file)
            (void)fclose(file);
    }
    (void)closedir(dir);
    *ret_sum = sum;
    return asleep;
}

static void f_k5_an_idle_runtime_does_not_wake(void **state)
{
    struct volt_join j;
    struct volt_stats st;

    (void)state;
    rt = runtime(4);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(fn_spawn(rt, counts, NULL, &j), 0);
        join(&j, 0);
    }
    do
        volt_runtime_stats(rt, &st);
    while (st.workers_parked < 4);
    if (getenv("VOLT_SAN") && strcmp(getenv("VOLT_SAN"), "thread") == 0)
        skip(); /* its runtime has a thread of its own */
    /* First the sleep that was announced, and sentinels that linger, 100 ms each. */
    unsigned long before, after = 0;
    bool quiet = false;
    while (!quiet) {
        bool asleep = switches(&before);
        usleep(200000);
        quiet = switches(&after) && asleep && after == before;
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, polls_setup, polls_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(f_a1_global_tasks_run_beside_busy_workers),
        T(f_a4_a_change_of_phase_does_not_keep_the_old_interval),
        T(g7_a_task_from_outside_waits_for_a_poll_not_for_the_ring),
        T(l5_a_pair_in_the_slot_does_not_starve_the_ring),
        T(f_a6_a_poll_has_a_budget),
        T(a_pending_leaf_gives_its_unit_back),
        T(f_a7_a_self_wake_lets_the_others_go_first),
        T(a_task_that_yields_alone_wakes_nobody),
        T(p5_children_behind_a_long_poll_are_stolen),
        T(f_j1_timers_fire_beside_a_long_poll),
        T(f_j1_busy_workers_fire_the_timers_of_one_in_a_long_poll),
        T(w5_timers_fire_beside_busy_workers),
        T(f_k5_an_idle_runtime_does_not_wake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

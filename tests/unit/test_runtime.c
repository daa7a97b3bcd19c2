/* The runtime as a whole, on real threads. Nothing here depends on time: a promise that
 * is not kept hangs the test. Named by the flaws of the Volt documentation: F-A1 (global
 * queue starved by local work), F-A4 (interval against target), F-A6 (no budget per
 * task), F-A7 (a self-wake is no yield), F-A10 (local spawns go through the global
 * queue), F-H8 (too many workers), F-I1 and F-I11 (cancel), F-I7 (joins that nobody
 * wakes), F-J1 (timers of a worker in a long poll), F-K5 (wakes while idle). */
#include "base/atomic.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct volt_runtime *rt;
static vat_u32 flag, count, drops;

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

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    rt = NULL;
    return 0;
}

static void join(struct volt_join *j, int expect)
{
    assert_int_equal(volt_join_wait(j), expect);
    volt_join_fini(j);
}

/* --- polls -------------------------------------------------------------------------- */

static enum volt_poll raise_flag(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&flag, 1, VAT_REL);
    return VOLT_READY;
}

static enum volt_poll counts(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    vat_u32_add(&count, 1, VAT_RLX);
    f->value = 42;
    return VOLT_READY;
}

static void counts_drop(struct fn_task *f)
{
    (void)f;
    vat_u32_add(&drops, 1, VAT_RLX);
}

/* Always ready to go on, until the flag is up. */
static enum volt_poll wakes_itself(struct volt_cx *cx, struct fn_task *f)
{
    (void)f;
    if (vat_u32_load(&flag, VAT_ACQ))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* One poll until the flag is up. */
static enum volt_poll hogs(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&count, 1, VAT_REL);
    while (!vat_u32_load(&flag, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
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

static void wait_count(uint32_t n)
{
    while (vat_u32_load(&count, VAT_ACQ) < n)
        vat_pause();
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
    /* The one in the ring, and perhaps the one in the slot. */
    assert_int_equal(st.total.stolen - st.total.lifo_stolen, 1);
    assert_int_equal(st.total.steal_ops - st.total.lifo_stolen, 1);
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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_task_runs_and_is_joined),
        T(a_discarded_state_never_runs),
        T(detached_tasks_all_run),
        T(f_a1_global_tasks_run_beside_busy_workers),
        T(f_a4_a_change_of_phase_does_not_keep_the_old_interval),
        T(g7_a_task_from_outside_waits_for_a_poll_not_for_the_ring),
        T(l5_a_pair_in_the_slot_does_not_starve_the_ring),
        T(f_a6_a_poll_has_a_budget),
        T(a_pending_leaf_gives_its_unit_back),
        T(f_a7_a_self_wake_lets_the_others_go_first),
        T(a_task_that_yields_alone_wakes_nobody),
        T(f_a10_local_spawns_stay_local),
        T(idle_workers_steal),
        T(p5_children_behind_a_long_poll_are_stolen),
        T(f_i7_a_task_that_joins_is_woken),
        T(f_i1_f_i11_cancelling_a_waiting_task_ends_it),
        T(a_handle_given_up_leaves_the_task_running),
        T(f_d2_a_task_is_woken_by_a_worker_of_another_runtime),
        T(f_j1_timers_fire_beside_a_long_poll),
        T(f_j1_busy_workers_fire_the_timers_of_one_in_a_long_poll),
        T(w5_timers_fire_beside_busy_workers),
        T(f_k5_an_idle_runtime_does_not_wake),
        T(f_h8_more_workers_than_bits_form_groups),
        T(many_are_spawned_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

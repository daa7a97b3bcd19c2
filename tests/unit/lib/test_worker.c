/* What one worker runs in which order, seen from its tasks. Everything is counted in
 * polls, not in time. Named by the flaws of the Volt documentation: F-A2 (the interval of
 * the global queue counts ticks), F-A3 (its check is never reached), F-A8 (the cap of the
 * slot holds for a whole tick), F-B2 (a batch is lost at the end of a tick), F-K4
 * (counters read while they are written), F-L5 (workers started twice), F-N6 (I/O waits
 * for 128 polls of any length). */
#include "base/atomic.h"
#include "task/limits.h"
#include "tests/support/fn_task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LATER 3000 /* polls after which the interval is that of short tasks */

static struct volt_runtime *rt;
static vat_u32 polls, ran, stop;
static int pair[2]; /* of sockets */

static int setup(void **state)
{
    struct volt_options opt = {.workers = 1, .seed = 7, .thread_name = "volt-t"};

    (void)state;
    vat_u32_init(&polls, 0);
    vat_u32_init(&ran, 0);
    vat_u32_init(&stop, 0);
    return volt_runtime_new(&opt, &rt);
}

static int teardown(void **state)
{
    (void)state;
    volt_runtime_free(rt);
    rt = NULL;
    return 0;
}

static int output_of(struct volt_join *j)
{
    assert_int_equal(volt_join_wait(j), 0);
    int value = ((struct fn_task *)volt_join_state(j))->value;
    volt_join_fini(j);
    return value;
}

/* --- the global queue --------------------------------------------------------------- */

/* Its output: the poll of the busy task after which it ran. */
static enum volt_poll notes_polls(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    f->value = (int)vat_u32_load(&polls, VAT_RLX);
    vat_u32_store(&stop, 1, VAT_RLX);
    return VOLT_READY;
}

static void *submits(void *arg)
{
    FN_CHECK(fn_spawn(rt, notes_polls, NULL, arg) == 0);
    return NULL;
}

/* Never without work; at poll LATER another thread submits a task, and has submitted it
 * before the poll is over. */
static enum volt_poll busy(struct volt_cx *cx, struct fn_task *f)
{
    pthread_t thread;

    if (vat_u32_load(&stop, VAT_RLX))
        return VOLT_READY;
    if (vat_u32_add(&polls, 1, VAT_RLX) + 1 == LATER) {
        FN_CHECK(pthread_create(&thread, NULL, submits, f->arg) == 0);
        FN_CHECK(pthread_join(thread, NULL) == 0);
    }
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void f_a2_f_a3_the_interval_counts_polls_of_a_busy_worker(void **state)
{
    struct volt_join j, outside = {0};

    (void)state;
    assert_int_equal(fn_spawn(rt, busy, &outside, &j), 0);
    (void)output_of(&j);
    assert_in_range(output_of(&outside), LATER, LATER + VOLT_MAX_GLOBAL_QUEUE_INTERVAL);
}

static enum volt_poll holds(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_store(&polls, 1, VAT_REL);
    while (!vat_u32_load(&stop, VAT_ACQ))
        vat_pause();
    return VOLT_READY;
}

static enum volt_poll counts(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx, (void)f;
    vat_u32_add(&ran, 1, VAT_RLX);
    return VOLT_READY;
}

static void f_b2_batches_across_the_end_of_a_tick_lose_nothing(void **state)
{
    const uint32_t n = 10 * VOLT_BUDGET_PER_TICK + 5;
    struct volt_join hold, last;
    struct volt_worker_stats w;

    (void)state;
    assert_int_equal(fn_spawn(rt, holds, NULL, &hold), 0);
    while (!vat_u32_load(&polls, VAT_ACQ))
        vat_pause();
    for (uint32_t i = 0; i < n; i++) /* more than the ring holds, too */
        assert_int_equal(fn_spawn(rt, counts, NULL, i == n - 1 ? &last : NULL), 0);
    vat_u32_store(&stop, 1, VAT_REL);
    (void)output_of(&last);
    assert_int_equal(vat_u32_load(&ran, VAT_RLX), n); /* the last in is the last out */
    volt_join_fini(&hold);
    assert_int_equal(volt_worker_stats(rt, 0, &w), 0);
    assert_in_range(w.global_batch_fetches, 1 + n / VOLT_MAX_GLOBAL_QUEUE_BATCH_SIZE, n);
}

/* --- the slot ----------------------------------------------------------------------- */

static struct volt_waker player[2];

/* Wakes the other and waits for it, LATER times. */
static enum volt_poll plays(struct volt_cx *cx, struct fn_task *f)
{
    int me = f->arg != NULL;

    if (f->at++ == 0)
        player[me] = volt_waker_new(cx);
    if (player[!me].task)
        volt_waker_wake(&player[!me]);
    return f->at <= LATER ? VOLT_PENDING : VOLT_READY;
}

static enum volt_poll starts_players(struct volt_cx *cx, struct fn_task *f)
{
    struct volt_join *j = f->arg;

    FN_CHECK(fn_spawn(volt_cx_runtime(cx), plays, NULL, &j[0]) == 0);
    FN_CHECK(fn_spawn(volt_cx_runtime(cx), plays, &player, &j[1]) == 0);
    return VOLT_READY;
}

static void f_a8_the_cap_of_the_slot_is_of_a_run_not_of_a_tick(void **state)
{
    struct volt_worker_stats w;
    struct volt_join start, j[2];

    (void)state;
    memset(player, 0, sizeof(player));
    assert_int_equal(fn_spawn(rt, starts_players, j, &start), 0);
    (void)output_of(&start);
    for (int i = 0; i < 2; i++)
        (void)output_of(&j[i]);
    assert_int_equal(volt_worker_stats(rt, 0, &w), 0);
    assert_true(w.polled >= 2 * LATER);
    assert_in_range(w.lifo_hits, w.polled / 2,
                    w.polled - w.polled / 5); /* of 4 about 3 */
    for (int i = 0; i < 2; i++)
        volt_waker_fini(&player[i]);
}

/* --- events ------------------------------------------------------------------------- */

/* Polls of a millisecond; the tenth writes to the socket. */
static enum volt_poll writes_between_long_polls(struct volt_cx *cx, struct fn_task *f)
{
    uint64_t end = volt_now_usec() + 1000;

    (void)f;
    if (vat_u32_load(&stop, VAT_RLX))
        return VOLT_READY;
    while (volt_now_usec() < end)
        vat_pause();
    if (vat_u32_add(&polls, 1, VAT_RLX) + 1 == 10)
        FN_CHECK(write(pair[1], "x", 1) == 1);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static enum volt_poll reads(struct volt_cx *cx, struct fn_task *f)
{
    ssize_t n;
    char c;

    if (volt_io_read_poll(cx, f->arg, &c, 1, &n) == VOLT_PENDING)
        return VOLT_PENDING;
    FN_CHECK(n == 1);
    return notes_polls(cx, f);
}

static void f_n6_events_wait_for_a_few_long_polls_at_most(void **state)
{
    struct volt_join reader, writer;
    struct volt_io io;

    (void)state;
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(volt_io_init(&io, rt, pair[0]), 0);
    assert_int_equal(fn_spawn(rt, reads, &io, &reader), 0);
    assert_int_equal(fn_spawn(rt, writes_between_long_polls, NULL, &writer), 0);
    assert_in_range(output_of(&reader), 10, 10 + 4);
    (void)output_of(&writer);
    volt_io_fini(&io);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* --- threads ------------------------------------------------------------------------ */

static void *spawns_100(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        FN_CHECK(fn_spawn(rt, counts, NULL, NULL) == 0);
    return NULL;
}

static int workers_of_this_process(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[300], name[32] = "";

        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
        FILE *file = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!file)
            continue;
        n += fgets(name, sizeof(name), file) && strncmp(name, "volt-t", 6) == 0;
        (void)fclose(file);
    }
    (void)closedir(dir);
    return n;
}

static void f_l5_first_spawns_at_the_same_time_start_nothing_twice(void **state)
{
    pthread_t thread[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, spawns_100, NULL), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    while (vat_u32_load(&ran, VAT_RLX) < 400)
        vat_pause();
    assert_int_equal(workers_of_this_process(), 1);
}

static void t3_f_k4_counters_are_read_while_they_are_written(void **state)
{
    struct volt_worker_stats before = {0}, now;
    struct volt_join j, outside = {0};

    (void)state;
    assert_int_equal(fn_spawn(rt, busy, &outside, &j), 0);
    while (!vat_u32_load(&stop, VAT_RLX)) {
        assert_int_equal(volt_worker_stats(rt, 0, &now), 0);
        assert_true(now.polled >= before.polled);
        assert_true(now.parked >= before.parked);
        before = now;
    }
    (void)output_of(&j);
    (void)output_of(&outside);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(f_a2_f_a3_the_interval_counts_polls_of_a_busy_worker),
        T(f_b2_batches_across_the_end_of_a_tick_lose_nothing),
        T(f_a8_the_cap_of_the_slot_is_of_a_run_not_of_a_tick),
        T(f_n6_events_wait_for_a_few_long_polls_at_most),
        T(f_l5_first_spawns_at_the_same_time_start_nothing_twice),
        T(t3_f_k4_counters_are_read_while_they_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

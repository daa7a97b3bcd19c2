/* The timer wheel under a virtual clock: never early, never more than a slot late,
 * however rarely anybody looks. Named by the flaws of the Volt documentation: F-J4 (slots
 * indexed by the relative delay), F-J5 (cancelled entries stay linked), F-J7 (next expiry
 * rounded to whole slots). */
#include "driver/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK ((uint64_t)WHEEL_TICK_USEC)

static uint64_t rng_state;

static uint64_t rnd(uint64_t below)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state % below;
}

/* A timer with the task that it wakes. */
struct timer {
    struct volt_sleep sleep;
    struct volt_task task;
};

static void timer_arm(struct wheel *w, struct timer *t, uint64_t deadline, uint64_t now)
{
    memset(t, 0, sizeof(*t));
    vat_u64_init(&t->task.state, TASK_REF_ONE);
    t->sleep.deadline_usec = deadline;
    assert_true(wheel_insert(w, &t->sleep, &t->task, now) >= 0);
}

static struct wheel *new_wheel(uint64_t now)
{
    struct wheel *w = aligned_alloc(VOLT_CACHE_LINE, sizeof(*w));

    assert_non_null(w);
    wheel_init(w, now);
    return w;
}

static unsigned fire(struct wheel *w, uint64_t now)
{
    struct task_chain chain = {0};

    wheel_fire(w, now, &chain);
    return chain.count;
}

/* Arms one timer of `delay` ticks at `start` and looks every `step` us (0: when the wheel
 * says). Returns how late it fired, in us. */
static uint64_t one_timer(uint64_t start, uint64_t delay, uint64_t step)
{
    struct wheel *w = new_wheel(0);
    struct timer t;
    uint64_t deadline = start + delay * TICK, now = start;

    timer_arm(w, &t, deadline, start);
    for (;;) {
        now = step ? now + step : wheel_next(w);
        if (fire(w, now))
            break;
        assert_true(now < deadline + TICK);
        if (!step)
            fail_msg("the wheel said %lu and fired nothing", (unsigned long)now);
    }
    assert_true(wheel_fired(&t.sleep));
    assert_true(now >= deadline); /* never early */
    assert_int_equal(vat_u64_load(&w->armed, VAT_RLX), 0);
    assert_true(wheel_next(w) == WHEEL_NEVER);
    free(w);
    return now - deadline;
}

static void test_F_J4_never_early_never_a_slot_late(void **state)
{
    static const uint64_t delays[] = {1, 5, 10, 32, 63, 64, 65, 100, 1000, 5000};

    (void)state;
    rng_state = 1;
    for (unsigned i = 0; i < sizeof(delays) / sizeof(*delays); i++) {
        for (int n = 0; n < 200; n++) {
            uint64_t start = rnd(4096 * TICK);

            assert_true(one_timer(start, delays[i], 0) < TICK);
            assert_true(one_timer(start, delays[i], TICK) < 2 * TICK);
            /* Nobody looked for 70 ticks: a wheel that turns modulo 64 skips a round. */
            assert_true(one_timer(start, delays[i], 70 * TICK) < 71 * TICK);
        }
    }
}

static void test_F_J7_next_expiry_is_exact_on_every_level(void **state)
{
    (void)state;
    rng_state = 2;
    for (int bits = 0; bits < 40; bits++) {
        uint64_t start = rnd(UINT64_C(1) << 40);
        uint64_t delay = (UINT64_C(1) << bits) + rnd(UINT64_C(1) << bits);
        struct wheel *w = new_wheel(start);
        struct timer t;
        uint64_t looks = 0, next;

        timer_arm(w, &t, start + delay * TICK, start);
        for (next = wheel_next(w); !fire(w, next); next = wheel_next(w))
            looks++;
        assert_true(next >= start + delay * TICK && next < start + delay * TICK + TICK);
        /* Only what lies beyond the wheel's 2^36 ticks is placed again before it is
         * due. */
        assert_true(looks <= (bits < 35 ? 0 : delay / (UINT64_C(63) << 30) + 1));
        free(w);
    }
}

/* Many timers, random insertions, cancellations and pauses, against the
 * plain definition. */
static void test_random_against_definition(void **state)
{
    enum { N = 512, ROUNDS = 20000 };
    struct timer *t = calloc(N, sizeof(*t));
    bool armed[N] = {false};
    uint64_t now = 5 * TICK, alive = 0;
    struct wheel *w = new_wheel(now);

    (void)state;
    rng_state = 3;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)rnd(N);
        uint64_t earliest = WHEEL_NEVER, expect = 0;

        if (!armed[i]) {
            timer_arm(w, &t[i], now + rnd(UINT64_C(1) << (4 + rnd(26))), now);
            armed[i] = true;
            alive++;
        } else if (rnd(2)) {
            wheel_cancel(&t[i].sleep);
            armed[i] = false;
            alive--;
        }
        assert_int_equal(vat_u64_load(&w->armed, VAT_RLX), alive);
        if (rnd(4))
            continue;
        now += rnd(UINT64_C(1) << (2 + rnd(22)));
        for (unsigned k = 0; k < N; k++) {
            uint64_t due = (t[k].sleep.deadline_usec + TICK - 1) / TICK * TICK;

            if (armed[k] && due <= now)
                expect++;
            else if (armed[k] && due < earliest)
                earliest = due;
        }
        assert_int_equal(fire(w, now), expect);
        for (unsigned k = 0; k < N; k++) {
            if (armed[k] && wheel_fired(&t[k].sleep)) {
                assert_true(t[k].sleep.deadline_usec <= now);
                armed[k] = false;
            }
        }
        alive -= expect;
        assert_true(wheel_next(w) <= earliest);
        assert_true(alive > 0 || wheel_next(w) == WHEEL_NEVER);
    }
    free(w);
    free(t);
}

static void test_F_J5_cancelled_entry_is_out_of_the_wheel(void **state)
{
    struct wheel *w = new_wheel(0);
    struct timer *gone = malloc(sizeof(*gone)), kept;

    (void)state;
    timer_arm(w, gone, 10 * TICK, 0);
    timer_arm(w, &kept, 10 * TICK, 0);
    wheel_cancel(&gone->sleep);
    memset(gone, 0xff, sizeof(*gone)); /* a wheel that still knew it would follow this */
    free(gone);
    assert_int_equal(fire(w, 10 * TICK), 1);
    assert_true(wheel_fired(&kept.sleep));
    wheel_cancel(&kept.sleep); /* fired: nothing to do */
    assert_null(kept.sleep.wheel);
    free(w);
}

static void test_cancelling_the_earliest_moves_next(void **state)
{
    struct wheel *w = new_wheel(0);
    struct timer early, late;

    (void)state;
    timer_arm(w, &late, 90000 * TICK, 0);
    timer_arm(w, &early, 10 * TICK, 0);
    assert_int_equal(wheel_next(w), 10 * TICK);
    wheel_cancel(&early.sleep);
    assert_int_equal(wheel_next(w), 90000 * TICK);
    wheel_cancel(&late.sleep);
    assert_true(wheel_next(w) == WHEEL_NEVER);
    free(w);
}

static void test_insert_tells_when_it_is_the_earliest(void **state)
{
    struct wheel *w = new_wheel(0);
    struct volt_task task;
    struct volt_sleep a = {.deadline_usec = 20 * TICK}, b = {.deadline_usec = 30 * TICK},
                      c = {.deadline_usec = 10 * TICK}, d = {.deadline_usec = UINT64_MAX};

    (void)state;
    vat_u64_init(&task.state, TASK_REF_ONE);
    assert_int_equal(wheel_insert(w, &a, &task, 0), 1);
    assert_int_equal(wheel_insert(w, &b, &task, 0), 0);
    assert_int_equal(wheel_insert(w, &c, &task, 0), 1);
    assert_int_equal(wheel_insert(w, &d, &task, 0), 0);
    wheel_cancel(&a);
    wheel_cancel(&b);
    wheel_cancel(&c);
    wheel_cancel(&d);
    free(w);
}

static void test_close_fires_everything_and_refuses(void **state)
{
    struct wheel *w = new_wheel(0);
    struct timer t[4];
    struct volt_sleep late = {.deadline_usec = 1};
    struct task_chain chain = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++)
        timer_arm(w, &t[i], (UINT64_C(1) << 8 * i) * TICK, 0);
    wheel_close(w, &chain);
    assert_int_equal(chain.count, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_true(wheel_fired(&t[i].sleep));
    assert_int_equal(wheel_insert(w, &late, &t[0].task, 0), -ESHUTDOWN);
    assert_null(late.wheel);
    assert_int_equal(vat_u64_load(&w->armed, VAT_RLX), 0);
    free(w);
}

/* Three timers wait in one slot, and the owner of one initialises it; then it is armed
 * again: `delay` ticks on, or not at all (0). What comes after the mistake must end the
 * process there, and not elsewhere. */
static int end_of_initialised(unsigned which, unsigned slot, unsigned delay, bool cancels)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct wheel *w = new_wheel(0);
        struct timer t[3];

        (void)!freopen("/dev/null", "w", stderr);
        signal(SIGABRT, SIG_DFL);
        alarm(60);
        for (unsigned i = 0; i < 3; i++)
            timer_arm(w, &t[i], slot * TICK, 0);
        t[which].sleep = (struct volt_sleep){.deadline_usec = delay * TICK};
        if (delay)
            (void)wheel_insert(w, &t[which].sleep, &t[which].task, 0);
        if (cancels)
            for (unsigned i = 0; i < 3; i++)
                wheel_cancel(&t[i].sleep);
        for (uint64_t at = 1; at < 100; at++)
            (void)fire(w, at * TICK);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_an_entry_initialised_while_it_waits_is_asserted(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 3; which++)
        for (unsigned cancels = 0; cancels < 2; cancels++)
            for (unsigned slot = 20; slot <= 64;
                 slot += 44) { /* 64: number 0 of its level */
                assert_int_equal(end_of_initialised(which, slot, 0, cancels), SIGABRT);
                assert_int_equal(end_of_initialised(which, slot, slot, cancels), SIGABRT);
                assert_int_equal(end_of_initialised(which, slot, 30, cancels), SIGABRT);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_F_J4_never_early_never_a_slot_late),
        cmocka_unit_test(test_F_J7_next_expiry_is_exact_on_every_level),
        cmocka_unit_test(test_random_against_definition),
        cmocka_unit_test(test_F_J5_cancelled_entry_is_out_of_the_wheel),
        cmocka_unit_test(test_cancelling_the_earliest_moves_next),
        cmocka_unit_test(test_insert_tells_when_it_is_the_earliest),
        cmocka_unit_test(test_an_entry_initialised_while_it_waits_is_asserted),
        cmocka_unit_test(test_close_fires_everything_and_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

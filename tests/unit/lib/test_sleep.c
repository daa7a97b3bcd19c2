/* Sleeping on a real runtime. No timed asserts but one: never early. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct sleeper {
    struct volt_sleep sleep;
    struct volt_waker *waker;
    unsigned *polls;
    uint64_t *woke;
};

static enum volt_poll sleeper_poll(struct volt_cx *cx, void *state)
{
    struct sleeper *s = state;

    if (s->polls)
        (*s->polls)++;
    if (s->waker && !s->waker->task)
        *s->waker = volt_waker_new(cx);
    if (volt_sleep_poll(cx, &s->sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    *s->woke = volt_now_usec();
    return VOLT_READY;
}

static void sleeper_drop(void *state)
{
    struct sleeper *s = state;

    volt_sleep_fini(&s->sleep);
}

static const struct volt_task_type sleeper_type = {
    .name = "sleeper",
    .size = sizeof(struct sleeper),
    .poll = sleeper_poll,
    .drop = sleeper_drop,
};

static struct sleeper *new_sleeper(struct volt_runtime *rt, uint64_t *woke)
{
    struct sleeper *s = volt_task_new(rt, &sleeper_type);

    assert_non_null(s);
    s->woke = woke;
    return s;
}

static void test_never_early(void **state)
{
    enum { N = 200 };
    struct volt_options opt = {.workers = 3, .seed = 5};
    static struct volt_join join[N];
    static uint64_t woke[N], deadline[N];
    struct volt_runtime *rt;
    struct volt_stats stats;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (unsigned i = 0; i < N; i++) {
        struct sleeper *s = new_sleeper(rt, &woke[i]);

        volt_sleep_init(&s->sleep, i * 371 % 70000);
        deadline[i] = s->sleep.deadline_usec;
        lone_spawn(s, &join[i]);
    }
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(lone_join(&join[i]), 0);
        assert_true(woke[i] >= deadline[i]);
    }
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.timers, 0);
    volt_runtime_free(rt);
}

/* F-J3: expiry ran callbacks under the lock of the timers, so that one which armed the
 * next timer stopped for ever. */
struct ticker {
    struct volt_sleep sleep;
    int at, ticks;
};

static enum volt_poll ticker_poll(struct volt_cx *cx, void *state)
{
    struct ticker *s = state;

    VOLT_BEGIN(s->at);
    for (s->ticks = 0; s->ticks < 5; s->ticks++) {
        volt_sleep_init(&s->sleep, 1000);
        VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->sleep));
        volt_sleep_fini(&s->sleep);
    }
    VOLT_END(s->at);
}

static void test_F_J3_what_a_timer_wakes_may_arm_the_next(void **state)
{
    static const struct volt_task_type type = {
        .name = "ticker",
        .size = sizeof(struct ticker),
        .poll = ticker_poll,
    };
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;

    (void)state;
    lone_spawn(volt_task_new(rt, &type), &join);
    assert_int_equal(volt_join_wait(&join), 0);
    assert_int_equal(((struct ticker *)volt_join_state(&join))->ticks, 5);
    volt_join_fini(&join);
    volt_runtime_free(rt);
}

static void test_past_is_ready_at_once(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    uint64_t woke = 0;
    unsigned polls = 0;
    struct volt_join join;
    struct sleeper *s = new_sleeper(rt, &woke);

    (void)state;
    s->polls = &polls;
    volt_sleep_init_at(&s->sleep, 1);
    lone_spawn(s, &join);
    assert_int_equal(lone_join(&join), 0);
    assert_int_equal(polls, 1);
    volt_runtime_free(rt);
}

static void test_F_J5_cancelled_while_it_sleeps(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    uint64_t woke = 0;
    struct volt_join join;
    struct volt_stats stats;
    struct sleeper *s = new_sleeper(rt, &woke);

    (void)state;
    volt_sleep_init(&s->sleep, UINT64_MAX); /* for ever; must not wrap to the past */
    lone_spawn(s, &join);
    lone_settle(rt);
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.timers, 1);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.timers, 0);
    assert_int_equal(woke, 0);
    volt_runtime_free(rt);
}

static void test_polled_for_another_reason_goes_on_sleeping(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_waker waker = {0};
    struct volt_stats stats;
    unsigned polls = 0;
    uint64_t woke = 0;
    struct volt_join join;
    struct sleeper *s = new_sleeper(rt, &woke);

    (void)state;
    s->polls = &polls;
    s->waker = &waker;
    volt_sleep_init(&s->sleep, UINT64_C(3600000000));
    lone_spawn(s, &join);
    lone_settle(rt);
    volt_waker_wake(&waker);
    lone_settle(rt);
    assert_int_equal(polls, 2);
    volt_runtime_stats(rt, &stats);
    assert_int_equal(stats.timers, 1);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    assert_int_equal(woke, 0);
    volt_waker_fini(&waker);
    volt_runtime_free(rt);
}

/* F-J1: one worker is in a long poll; the other fires the timers of both wheels. */
static void test_F_J1_long_poll_delays_nobody_elses_timers(void **state)
{
    struct volt_options opt = {.workers = 2, .seed = 5};
    struct volt_runtime *rt;
    struct volt_join join[8];
    uint64_t woke[8];
    struct lone_hold hold;

    (void)state;
    assert_int_equal(volt_runtime_new(&opt, &rt), 0);
    for (int i = 0; i < 8; i++) {
        struct sleeper *s = new_sleeper(rt, &woke[i]);

        volt_sleep_init(&s->sleep, 5000);
        lone_spawn(s, &join[i]);
    }
    lone_hold_begin(rt, &hold); /* while it lasts, all of them end */
    lone_settle(rt);            /* the other worker is awake, and sleeps as leader next */
    for (int i = 0; i < 8; i++)
        assert_int_equal(lone_join(&join[i]), 0);
    lone_hold_end(&hold);
    volt_runtime_free(rt);
}

static void test_shutdown_ends_sleepers(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    uint64_t woke = 0;
    struct volt_join join;
    struct sleeper *s = new_sleeper(rt, &woke);

    (void)state;
    volt_sleep_init(&s->sleep, UINT64_C(3600000000));
    lone_spawn(s, &join);
    lone_settle(rt);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(lone_join(&join), -ECANCELED);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_early),
        cmocka_unit_test(test_F_J3_what_a_timer_wakes_may_arm_the_next),
        cmocka_unit_test(test_past_is_ready_at_once),
        cmocka_unit_test(test_F_J5_cancelled_while_it_sleeps),
        cmocka_unit_test(test_polled_for_another_reason_goes_on_sleeping),
        cmocka_unit_test(test_F_J1_long_poll_delays_nobody_elses_timers),
        cmocka_unit_test(test_shutdown_ends_sleepers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

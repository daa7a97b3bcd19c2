/* Intervals in tasks: where the ticks are. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { TICKS = 5, PERIOD = 2000 };

struct ticking {
    int at, n;
    struct volt_interval interval;
    uint64_t began, first, seen[TICKS], missed;
    bool astray; /* a tick that was not armed where it belongs */
    struct volt_sleep sleep;
};

/* The next tick is so many periods behind the first, and armed for that. */
static void check_next(struct ticking *s, uint64_t periods)
{
    s->astray |= s->interval.next_usec != s->first + periods * PERIOD ||
                 s->interval.sleep.deadline_usec != s->interval.next_usec;
}

static enum volt_poll ticking_poll(struct volt_cx *cx, void *state)
{
    struct ticking *s = state;

    VOLT_BEGIN(s->at);
    s->began = volt_now_usec();
    volt_interval_init(&s->interval, PERIOD);
    s->first = s->interval.next_usec;
    for (s->n = 0; s->n < TICKS; s->n++) {
        VOLT_AWAIT(s->at, volt_interval_poll(cx, &s->interval));
        s->seen[s->n] = volt_now_usec();
        s->missed += s->interval.missed;
        check_next(s, (uint64_t)s->n + 1 + s->missed);
    }
    volt_sleep_init_at(&s->sleep, s->interval.next_usec + 3 * PERIOD);
    VOLT_AWAIT(s->at, volt_sleep_poll(cx, &s->sleep));
    VOLT_AWAIT(s->at, volt_interval_poll(cx, &s->interval));
    check_next(s, TICKS + 1 + s->missed + s->interval.missed);
    s->missed = s->interval.missed;
    VOLT_END(s->at);
}

static void ticking_drop(void *state)
{
    struct ticking *s = state;

    volt_interval_fini(&s->interval);
    volt_sleep_fini(&s->sleep);
}

static const struct volt_task_type ticking_type = {
    .name = "ticking",
    .size = sizeof(struct ticking),
    .poll = ticking_poll,
    .drop = ticking_drop,
};

/* No tick is early, however late those before it were, nor is its place another for that;
 * those that were missed are counted. */
static void test_an_interval(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;

    (void)state;
    assert_int_equal(VOLT_SPAWN(rt, &ticking_type, &join, struct ticking, 0), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct ticking *s = volt_join_state(&join);
    for (int i = 0; i < TICKS; i++)
        assert_true(s->seen[i] >= s->began + (uint64_t)(i + 1) * PERIOD);
    assert_true(s->missed >= 3);
    assert_false(s->astray);
    volt_join_fini(&join);
    volt_runtime_free(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

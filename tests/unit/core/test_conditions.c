/* Conditions: hold, after, begin, backoff, and the time by which a job has to start. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/admit/admission.h"

#define SECOND UINT64_C(1000000)

static struct admission *a;
static struct waiter w[8];

static int set_up(void **state)
{
    static const struct siphash_key key = {1, 2};

    (void)state;
    memset(w, 0, sizeof(w));
    a = admission_new(&key, 1);
    for (size_t i = 0; i < 8 && a; i++) {
        const struct admission_ask ask = {.uid = 1, .slot = true};

        assert_int_equal(admission_assign(a, &w[i], &ask, i + 1), 0);
    }
    return a ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    admission_free(a);
    return 0;
}

static bool is_next(const struct waiter *x)
{
    unsigned budget = 64;

    return admission_next(a, 0, &budget) == x;
}

static void tick(uint64_t boottime, uint64_t realtime)
{
    assert_true(admission_tick(a, &(struct admission_times){boottime, realtime}, 64));
}

static void held_until_released(void **state)
{
    (void)state;
    const struct hold own = {1000, false}, admins = {0, true};
    struct hold seen;

    assert_false(condition_hold_of(&w[0], &seen));
    assert_int_equal(condition_hold_release(a, &w[0], true, 0), -ENOENT);
    assert_int_equal(condition_hold_add(a, &w[0], &own), 0); /* submitted with it */
    admission_enter(a, &w[0], 0);
    assert_true(admission_waits(&w[0]));
    assert_true(is_next(NULL));
    assert_true(condition_hold_of(&w[0], &seen));
    assert_int_equal(seen.by, 1000);
    assert_int_equal(condition_hold_release(a, &w[0], false, 0), 0);
    assert_true(is_next(&w[0]));

    assert_int_equal(condition_hold_add(a, &w[0], &own), 0); /* while it is in the line */
    assert_int_equal(condition_hold_add(a, &w[0], &admins), 0);
    assert_int_equal(condition_hold_add(a, &w[0], &own), 0);
    assert_int_equal(admission_count(a).unmet, 1);
    assert_int_equal(condition_hold_release(a, &w[0], false, 0), -EPERM);
    assert_true(is_next(NULL));
    assert_int_equal(condition_hold_release(a, &w[0], true, 0), 0);
    assert_true(is_next(&w[0]));
}

/* All that is due: what is met is, and the rest is doomed. */
static void pass_on(unsigned budget)
{
    for (struct condition *c; (c = condition_after_due(a, &budget));)
        condition_met(a, c, 0);
}

static void enter(struct waiter *x)
{
    admission_enter(a, x, 0);
    condition_after_enter(a, x);
}

/* What each kind of edge makes of an antecedent that starts, and ends so or so. */
static void edges(void **state)
{
    (void)state;
    const enum job_result fails = JOB_RESULT_EXIT, succeeds = JOB_RESULT_SUCCESS;
    const struct {
        enum job_after after;
        bool starts;
        enum job_result result;
        bool is_met;
    } cases[] = {
        {JOB_AFTER_OK, true, succeeds, true},     {JOB_AFTER_OK, true, fails, false},
        {JOB_AFTER_NOTOK, true, succeeds, false}, {JOB_AFTER_NOTOK, true, fails, true},
        {JOB_AFTER_ANY, true, succeeds, true},    {JOB_AFTER_ANY, false, fails, true},
        {JOB_AFTER_START, true, fails, true},     {JOB_AFTER_START, false, fails, false},
    };

    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(condition_after_add(a, &w[i], 100 + i, cases[i].after), 0);
        enter(&w[i]);
        assert_true(condition_after_is_awaited(a, 100 + i));
        if (cases[i].starts)
            condition_after_started(a, 100 + i);
        pass_on(9);
        assert_int_equal(is_next(&w[i]),
                         cases[i].after == JOB_AFTER_START && cases[i].starts);
        condition_after_ended(a, 100 + i, cases[i].result);
        pass_on(9);
        assert_false(condition_after_is_due(a));
        assert_int_equal(condition_after_is_awaited(a, 100 + i), !cases[i].is_met);
        assert_int_equal(is_next(&w[i]), cases[i].is_met);
        const struct doom *d = doom_first(a);
        assert_int_equal(d != NULL, !cases[i].is_met);
        if (d) {
            assert_ptr_equal(d->waiter, &w[i]);
            assert_int_equal(d->reason, DOOM_DEPENDENCY);
            assert_int_equal(d->antecedent, 100 + i);
            assert_int_equal(d->result, cases[i].result);
        }
        admission_forget(a, &w[i]);
        assert_null(doom_first(a));
        assert_false(condition_after_is_awaited(a, 100 + i));
    }
}

static void all_edges_of_one(void **state)
{
    (void)state;

    assert_int_equal(condition_after_add(a, &w[0], 7, JOB_AFTER_OK), 0);
    assert_int_equal(condition_after_add(a, &w[0], 8, JOB_AFTER_ANY), 0);
    enter(&w[0]);
    assert_int_equal(condition_wait(&w[0]), JOB_WAIT_DEPENDENCY);
    const struct condition *c = condition_find(&w[0], &condition_after);
    enum job_after when;
    assert_int_equal(condition_after_of(c, &when), 8);
    assert_int_equal(when, JOB_AFTER_ANY);
    condition_after_ended(a, 8, JOB_RESULT_LOST);
    pass_on(9);
    assert_true(is_next(NULL));
    condition_after_ended(a, 9, JOB_RESULT_SUCCESS);
    assert_false(condition_after_is_due(a));
    condition_after_ended(a, 7, JOB_RESULT_SUCCESS);
    pass_on(9);
    assert_true(is_next(&w[0]));
}

/* Its antecedents end before it has entered: it is nothing that can be due yet. */
static void one_that_has_not_entered(void **state)
{
    (void)state;

    assert_int_equal(condition_after_add(a, &w[0], 7, JOB_AFTER_OK), 0);
    assert_int_equal(condition_after_add(a, &w[1], 7, JOB_AFTER_NOTOK), 0);
    assert_int_equal(condition_after_add(a, &w[2], 7, JOB_AFTER_ANY), 0);
    condition_after_started(a, 7);
    condition_after_ended(a, 7, JOB_RESULT_SUCCESS);
    assert_false(condition_after_is_due(a));
    admission_forget(a, &w[2]);
    enter(&w[0]);
    assert_true(condition_after_is_due(a));
    pass_on(9);
    assert_true(is_next(&w[0]));
    enter(&w[1]);
    pass_on(9);
    assert_ptr_equal(doom_first(a)->waiter, &w[1]);
    assert_true(condition_after_is_awaited(a, 7)); /* its end is still to be told */
    admission_forget(a, &w[1]);
    assert_false(condition_after_is_awaited(a, 7));
}

/* Without an edge of its own: as often as it is said, until as often it is no more. */
static void awaited_without_an_edge(void **state)
{
    (void)state;
    assert_int_equal(condition_after_await(a, 7), 0);
    assert_int_equal(condition_after_await(a, 7), 0);
    assert_true(condition_after_is_awaited(a, 7));
    condition_after_await_no_more(a, 7);
    assert_true(condition_after_is_awaited(a, 7));
    condition_after_await_no_more(a, 7);
    assert_false(condition_after_is_awaited(a, 7));
}

/* One whose edge is gone is not told of; the fan of another goes in portions. What is not
 * told of comes again. */
static void a_fan_in_portions(void **state)
{
    (void)state;
    unsigned budget = 4;

    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(
            condition_after_add(a, &w[i], 7, i % 2 ? JOB_AFTER_OK : JOB_AFTER_NOTOK), 0);
        enter(&w[i]);
    }
    admission_leave(a, &w[3]);
    condition_after_ended(a, 7, JOB_RESULT_SUCCESS);
    struct condition *c = condition_after_due(a, &budget);
    assert_ptr_equal(c->waiter, &w[1]);
    assert_int_equal(budget, 2);
    assert_ptr_equal(condition_after_due(a, &budget), c);
    pass_on(3); /* with two that are doomed */
    assert_int_equal(admission_count(a).eligible, 1);
    assert_true(condition_after_is_awaited(a, 7));
    pass_on(5);
    assert_false(condition_after_is_due(a));
    assert_int_equal(admission_count(a).eligible, 3);
    for (size_t i = 0; i < 8; i += 2) {
        assert_ptr_equal(doom_first(a)->waiter, &w[i]);
        admission_leave(a, &w[i]);
    }
    assert_null(doom_first(a));
}

static void times_of_both_clocks(void **state)
{
    (void)state;
    enum clock clock;

    assert_int_equal(admission_tick_at(a).boottime, TIMED_NEVER);
    assert_int_equal(
        condition_time_add(a, &w[0], &condition_begin, CLOCK_OF_DELAYS, 5 * SECOND), 0);
    assert_int_equal(
        condition_time_add(a, &w[1], &condition_begin, CLOCK_OF_DATES, 900 * SECOND), 0);
    assert_int_equal(
        condition_time_add(a, &w[3], &condition_begin, CLOCK_OF_DATES, 900 * SECOND), 0);
    assert_int_equal(
        condition_time_add(a, &w[2], &condition_backoff, CLOCK_OF_DELAYS, 3 * SECOND), 0);
    for (size_t i = 0; i < 4; i++)
        admission_enter(a, &w[i], 0);
    assert_int_equal(condition_time_of(condition_find(&w[1], &condition_begin), &clock),
                     900 * SECOND);
    assert_int_equal(clock, CLOCK_OF_DATES);
    assert_int_equal(admission_tick_at(a).boottime, 3 * SECOND);
    assert_int_equal(admission_tick_at(a).realtime, 900 * SECOND);
    tick(3 * SECOND - 1, 100 * SECOND); /* set back: the delay goes on */
    assert_true(is_next(NULL));
    tick(3 * SECOND, 0);
    assert_true(is_next(&w[2]));
    tick(4 * SECOND, 900 * SECOND);
    assert_true(is_next(&w[1]));
    assert_int_equal(admission_count(a).eligible, 3); /* both dates */
    assert_false(admission_tick(a, &(struct admission_times){5 * SECOND, 0}, 0));
    tick(5 * SECOND, 0);
    assert_true(is_next(&w[0]));
}

static void has_to_start_by(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(doom_start_by(a, &w[i], (10 + i) * SECOND), 0);
        admission_enter(a, &w[i], 0);
    }
    assert_int_equal(doom_start_by(a, &w[0], 12 * SECOND), 0); /* another time */
    assert_int_equal(doom_start_by_of(a, &w[0]), 12 * SECOND);
    assert_int_equal(doom_start_by_of(a, &w[4]), TIMED_NEVER);
    assert_true(is_next(&w[0]));
    admission_take(a, &w[0], false, 0);
    assert_int_equal(doom_start_by_of(a, &w[0]), TIMED_NEVER);
    admission_leave(a, &w[2]);
    tick(0, 11 * SECOND - 1);
    assert_null(doom_first(a));
    tick(0, 12 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[1]);
    assert_int_equal(doom_first(a)->reason, DOOM_EXPIRED);
    admission_forget(a, &w[1]);
    assert_null(doom_first(a));
    tick(0, 13 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[3]);
    assert_int_equal(doom_start_by(a, &w[3], 20 * SECOND), 0); /* edited in time */
    assert_null(doom_first(a));
    doom_set(a, &w[3], 15 * SECOND); /* the same without memory: earlier, ... */
    tick(0, 15 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[3]);
    doom_set(a, &w[3], TIMED_NEVER); /* and when it was too late */
    assert_null(doom_first(a));
    tick(0, 100 * SECOND);
    assert_null(doom_first(a));
}

/* What is edited takes the times of another waiter, and keeps what else it waits for. */
static void times_that_are_taken(void **state)
{
    const struct hold own = {1000, false};

    (void)state;
    assert_int_equal(condition_hold_add(a, &w[0], &own), 0);
    assert_int_equal(
        condition_time_add(a, &w[0], &condition_begin, CLOCK_OF_DELAYS, 5 * SECOND), 0);
    assert_int_equal(
        condition_time_add(a, &w[0], &condition_begin, CLOCK_OF_DATES, 5 * SECOND), 0);
    admission_enter(a, &w[0], 0);
    admission_enter(a, &w[3], 0);
    assert_int_equal(
        condition_time_add(a, &w[1], &condition_begin, CLOCK_OF_DELAYS, 20 * SECOND), 0);
    condition_take_kind(a, &w[0], &w[1], &condition_begin, 0);
    assert_null(condition_first(&w[1]));
    assert_int_equal(admission_count(a).unmet, 1);
    tick(10 * SECOND, 10 * SECOND);
    assert_int_equal(condition_hold_release(a, &w[0], false, 0), 0);
    assert_true(is_next(&w[3])); /* it waits for its new time */
    tick(20 * SECOND, 10 * SECOND);
    assert_true(is_next(&w[0]));
    assert_int_equal(admission_count(a).unmet, 0);
}

/* Out of the line, and back into it; what is of another kind is left to the other one. */
static void times_that_come_and_go(void **state)
{
    const struct hold own = {1000, false};

    (void)state;
    admission_enter(a, &w[0], 0);
    admission_enter(a, &w[3], 0);
    assert_true(is_next(&w[0]));
    assert_int_equal(condition_hold_add(a, &w[1], &own), 0);
    assert_int_equal(
        condition_time_add(a, &w[1], &condition_begin, CLOCK_OF_DATES, SECOND), 0);
    condition_take_kind(a, &w[0], &w[1], &condition_begin, 0);
    assert_int_equal(condition_wait(&w[0]), JOB_WAIT_TIME);
    assert_int_equal(condition_wait(&w[1]), JOB_WAIT_HOLD);
    assert_true(is_next(&w[3]));
    condition_take_kind(a, &w[0], &w[2], &condition_begin, 0);
    assert_int_equal(condition_wait(&w[0]), JOB_WAIT_NONE);
    assert_true(is_next(&w[0]));
    assert_int_equal(admission_count(a).eligible, 2);
}

static void deadlines_that_are_taken(void **state)
{
    (void)state;
    assert_int_equal(doom_start_by(a, &w[0], 10 * SECOND), 0);
    admission_enter(a, &w[0], 0);
    assert_int_equal(doom_start_by(a, &w[1], 20 * SECOND), 0);
    doom_take(a, &w[0], &w[1]);
    assert_int_equal(doom_start_by_of(a, &w[0]), 20 * SECOND);
    assert_int_equal(doom_start_by_of(a, &w[1]), TIMED_NEVER);
    tick(0, 15 * SECOND);
    assert_null(doom_first(a));
    tick(0, 20 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[0]);
    doom_take(a, &w[0], &w[2]); /* none, also when it was too late */
    assert_null(doom_first(a));
    assert_int_equal(doom_start_by_of(a, &w[0]), TIMED_NEVER);
}

/* A start ends that, unless it was none. */
static void put_back_it_has_to_start_by_its_time(void **state)
{
    (void)state;
    assert_int_equal(doom_start_by(a, &w[0], 10 * SECOND), 0);
    admission_enter(a, &w[0], 0);
    admission_take(a, &w[0], false, 0);
    tick(0, 11 * SECOND);
    assert_null(doom_first(a)); /* it has started */
    admission_put_back(a, &w[0], 0);
    assert_int_equal(doom_start_by_of(a, &w[0]), 10 * SECOND);
    tick(0, 11 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[0]);
    admission_take(a, &w[0], false, 0); /* before its caller has ended it */
    assert_null(doom_first(a));
    admission_ended(a, &w[0], 1, 0, 0);
    admission_enter(a, &w[0], 0); /* for another attempt */
    tick(0, 12 * SECOND);
    assert_null(doom_first(a));
    admission_forget(a, &w[0]);
}

/* Without having been in the line, and before its time is set. */
static void started_at_once_it_has_no_time(void **state)
{
    (void)state;
    assert_int_equal(doom_start_by(a, &w[0], TIMED_NEVER), 0);
    assert_true(admission_try(a, &w[0], 0));
    doom_set(a, &w[0], 10 * SECOND);
    assert_int_equal(doom_start_by_of(a, &w[0]), TIMED_NEVER);
    assert_int_equal(admission_tick_at(a).realtime, TIMED_NEVER);
    tick(0, 11 * SECOND);
    assert_null(doom_first(a));
    admission_put_back(a, &w[0], 0);
    assert_int_equal(doom_start_by_of(a, &w[0]), 10 * SECOND);
    tick(0, 11 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[0]);
}

/* One that was late and has another time ends: the others are still late, in any order. */
static void all_that_are_late_are_told(void **state)
{
    bool told[4] = {false};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(doom_start_by(a, &w[i], (i ? 20 : 10) * SECOND), 0);
        admission_enter(a, &w[i], 0);
    }
    tick(0, 10 * SECOND);
    doom_set(a, &w[0], 30 * SECOND);
    assert_null(doom_first(a));
    tick(0, 20 * SECOND);
    admission_forget(a, &w[0]);
    for (size_t n = 1; n < 4; n++) {
        size_t i = (size_t)(doom_first(a)->waiter - w);

        assert_true(i >= 1 && i < 4 && !told[i]);
        told[i] = true;
        admission_leave(a, &w[i]);
    }
    assert_null(doom_first(a));
}

static size_t count(const struct waiter *x)
{
    size_t n = 0;

    for (const struct condition *c = condition_first(x); c; c = c->next, n++)
        assert_true(c->waiter == x && (!c->next || c->next->prev == c));
    return n;
}

/* The other conditions stand before its edges, so none of these is looked at for them. */
static void many_edges_are_in_the_way_of_nothing(void **state)
{
    unsigned budget = 9;

    (void)state;
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(condition_after_add(a, &w[0], i, JOB_AFTER_ANY), 0);
        if (i == 2)
            assert_int_equal(condition_hold_add(a, &w[0], &(struct hold){1, false}), 0);
        if (i == 4)
            assert_int_equal(
                condition_time_add(a, &w[0], &condition_begin, CLOCK_OF_DATES, SECOND),
                0);
    }
    enter(&w[0]);
    assert_int_equal(count(&w[0]), 8);
    const struct condition *c = condition_first(&w[0]);
    assert_true(condition_is(c, &condition_begin));
    assert_true(condition_is(c->next, &condition_hold));
    assert_ptr_equal(condition_find(&w[0], &condition_after), c->next->next);
    assert_int_equal(condition_wait(&w[0]), JOB_WAIT_HOLD);
    assert_int_equal(condition_hold_release(a, &w[0], true, 0), 0);
    static const uint64_t order[] = {3, 0, 5, 1, 4, 2};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(condition_wait(&w[0]), JOB_WAIT_DEPENDENCY);
        condition_after_ended(a, order[i], JOB_RESULT_SUCCESS);
        condition_met(a, condition_after_due(a, &budget), 0);
        assert_int_equal(count(&w[0]), 6 - i);
    }
    assert_int_equal(condition_wait(&w[0]), JOB_WAIT_TIME);
}

/* Many wait for one job: that is not in the way of what waits for another one, and not of
 * what is late. */
static void each_antecedent_has_its_turn(void **state)
{
    unsigned budget = 3;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(condition_after_add(a, &w[i], i < 4 ? 7 : 8, JOB_AFTER_ANY), 0);
        enter(&w[i]);
    }
    condition_after_ended(a, 7, JOB_RESULT_SUCCESS);
    condition_after_ended(a, 8, JOB_RESULT_SUCCESS);
    static const size_t order[] = {0, 4, 1};
    for (size_t i = 0; i < 3; i++) {
        struct condition *c = condition_after_due(a, &budget);

        assert_ptr_equal(c->waiter, &w[order[i]]);
        condition_met(a, c, 0);
    }
    pass_on(9);
    assert_int_equal(condition_after_add(a, &w[5], 9, JOB_AFTER_OK), 0);
    enter(&w[5]);
    condition_after_ended(a, 9, JOB_RESULT_EXIT);
    pass_on(9);
    assert_int_equal(doom_first(a)->reason, DOOM_DEPENDENCY);
    assert_int_equal(doom_start_by(a, &w[6], 10 * SECOND), 0);
    admission_enter(a, &w[6], 0);
    tick(0, 10 * SECOND);
    assert_ptr_equal(doom_first(a)->waiter, &w[6]);
    admission_leave(a, &w[6]);
    assert_ptr_equal(doom_first(a)->waiter, &w[5]);
}

/* What is unmet at the end of admission leaks nothing. */
static void left_at_the_end(void **state)
{
    (void)state;

    assert_int_equal(condition_hold_add(a, &w[0], &(struct hold){1, false}), 0);
    assert_int_equal(condition_after_add(a, &w[0], 5, JOB_AFTER_OK), 0);
    assert_int_equal(condition_after_add(a, &w[1], 6, JOB_AFTER_OK), 0);
    assert_int_equal(condition_time_add(a, &w[2], &condition_begin, CLOCK_OF_DATES, 5),
                     0);
    assert_int_equal(doom_start_by(a, &w[2], 5), 0);
    assert_int_equal(condition_replace_add(a, &w[3], 5), 0);
    condition_after_enter(a, &w[0]);
    condition_after_enter(a, &w[1]);
    condition_after_ended(a, 6, JOB_RESULT_LOST);
    pass_on(1);
    condition_after_ended(a, 5, JOB_RESULT_LOST);
    tick(0, 5);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(held_until_released),
        T(edges),
        T(all_edges_of_one),
        T(one_that_has_not_entered),
        T(awaited_without_an_edge),
        T(a_fan_in_portions),
        T(times_of_both_clocks),
        T(has_to_start_by),
        T(times_that_are_taken),
        T(times_that_come_and_go),
        T(deadlines_that_are_taken),
        T(put_back_it_has_to_start_by_its_time),
        T(started_at_once_it_has_no_time),
        T(all_that_are_late_are_told),
        T(many_edges_are_in_the_way_of_nothing),
        T(each_antecedent_has_its_turn),
        T(left_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

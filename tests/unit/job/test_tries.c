/* What counts when a job cannot be started, and how long it rests before the next try. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "daemon/job/tries.h"

static void without_a_keeper_it_waits_for_ever(void **state)
{
    struct tries t = {0};
    uint64_t expected = 100000;

    (void)state;
    assert_int_equal(tries_rest(&t), 0);
    for (int i = 0; i < 100000; i++) {
        tries_lost(&t);
        assert_false(tries_are_over(&t));
        assert_int_equal(tries_rest(&t), expected);
        assert_int_equal(tries_rest(&t), 0); /* one rest for one loss */
        expected = expected < 3200000 ? 2 * expected : expected;
    }
}

static void what_a_keeper_refuses_counts(void **state)
{
    struct tries t = {0};
    uint64_t waited = 0;

    (void)state;
    for (int i = 1; i < TRIES_MAX; i++) {
        tries_refused(&t, true);
        assert_false(tries_are_over(&t));
        waited += tries_rest(&t);
    }
    tries_lost(&t); /* says nothing */
    assert_false(tries_are_over(&t));
    tries_refused(&t, true);
    assert_true(tries_are_over(&t));
    assert_in_range(waited, 15000000, 17000000);
}

static void what_will_not_pass_is_the_end(void **state)
{
    struct tries t = {0};

    (void)state;
    tries_refused(&t, false);
    assert_true(tries_are_over(&t));
}

/* Counters of one byte, and any number of failures. */
static void no_counter_goes_round(void **state)
{
    struct tries t = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        tries_lost(&t);
        tries_refused(&t, i % 2 == 0);
        (void)tries_rest(&t);
        assert_true(i < TRIES_MAX || tries_are_over(&t));
    }
}

static void errors_that_pass(void **state)
{
    (void)state;
    assert_true(tries_passing(-EAGAIN) && tries_passing(-ENFILE));
    assert_false(tries_passing(0) || tries_passing(-EEXIST) || tries_passing(-ESRCH));
    assert_false(tries_passing(-ECONNRESET));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_keeper_it_waits_for_ever),
        cmocka_unit_test(what_a_keeper_refuses_counts),
        cmocka_unit_test(what_will_not_pass_is_the_end),
        cmocka_unit_test(no_counter_goes_round),
        cmocka_unit_test(errors_that_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

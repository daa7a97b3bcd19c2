/* By which time history ages when the clock is set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/store/age.h"

#define SEC  UINT64_C(1000000)
#define HOUR (3600 * SEC)
#define DAY  (24 * HOUR)
#define YEAR (365 * DAY)
#define KEEP (30 * DAY)
#define NOW  (50 * YEAR)

static struct age a;
static bool jumped;

/* offset: how wrong the clock is. */
static uint64_t look(uint64_t offset, uint64_t elapsed)
{
    return age_limit(&a, NOW + offset + elapsed, elapsed, KEEP, &jumped);
}

/* Long enough after the start. */
static void settle(void)
{
    age_start(&a, 0);
    (void)look(0, 0);
    assert_int_equal(look(0, 2 * HOUR), NOW + 2 * HOUR - KEEP);
}

static void nothing_ages_in_the_first_hour(void **state)
{
    (void)state;
    age_start(&a, DAY);
    assert_int_equal(look(0, DAY), 0);
    assert_int_equal(look(0, DAY + HOUR - 1), 0);
    assert_int_equal(look(0, DAY + HOUR), NOW + DAY + HOUR - KEEP);
    assert_false(jumped);
}

static void a_jump_ahead_is_not_believed_for_a_day(void **state)
{
    (void)state;
    settle();
    assert_int_equal(look(10 * YEAR, 3 * HOUR), 0);
    assert_true(jumped);
    assert_int_equal(look(10 * YEAR, 4 * HOUR), 0);
    assert_false(jumped);
    assert_int_equal(look(10 * YEAR, 3 * HOUR + DAY - 1), 0);
    assert_int_equal(look(10 * YEAR, 3 * HOUR + DAY),
                     NOW + 10 * YEAR + 3 * HOUR + DAY - KEEP);
}

static void back_again_is_as_before(void **state)
{
    (void)state;
    settle();
    assert_int_equal(look(10 * YEAR, 3 * HOUR), 0);
    assert_int_equal(look(0, 4 * HOUR), NOW + 4 * HOUR - KEEP);
    assert_false(jumped);
    assert_int_equal(look(20 * DAY, 5 * HOUR), 0); /* more than half of 30 */
    assert_true(jumped);
}

/* Also one that is waited out, or that nobody looks at for long. */
static void time_that_passes_is_no_jump(void **state)
{
    (void)state;
    settle();
    assert_int_equal(look(0, 3 * YEAR), NOW + 3 * YEAR - KEEP);
    assert_false(jumped);
    assert_int_equal(look(10 * DAY, 3 * YEAR + 1), NOW + 3 * YEAR + 1 + 10 * DAY - KEEP);
    assert_false(jumped);
}

static void little_is_kept(void **state)
{
    (void)state;
    const uint64_t keep = 10 * 60 * SEC;

    age_start(&a, 0);
    assert_int_equal(age_limit(&a, NOW, 0, keep, &jumped), 0);
    assert_int_equal(age_limit(&a, NOW + keep, keep, keep, &jumped), NOW);
    assert_int_equal(age_limit(&a, NOW + YEAR, 2 * keep, keep, &jumped), 0);
    assert_true(jumped);
    assert_int_equal(age_limit(&a, NOW + YEAR + keep, 3 * keep, keep, &jumped),
                     NOW + YEAR);
}

static void all_is_kept(void **state)
{
    (void)state;
    age_start(&a, 0);
    assert_int_equal(age_limit(&a, NOW, 0, UINT64_MAX, &jumped), 0);
    assert_int_equal(age_limit(&a, NOW + 10 * YEAR, DAY, UINT64_MAX, &jumped), 0);
    assert_false(jumped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_ages_in_the_first_hour),
        cmocka_unit_test(a_jump_ahead_is_not_believed_for_a_day),
        cmocka_unit_test(back_again_is_as_before),
        cmocka_unit_test(time_that_passes_is_no_jump),
        cmocka_unit_test(little_is_kept),
        cmocka_unit_test(all_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

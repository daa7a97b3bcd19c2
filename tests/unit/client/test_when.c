/* Points in time, as systemd.time(7) has them. */
#include "client/when.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

/* Sat 2026-11-21 10:20:30.5 UTC; 11:20:30.5 in Berlin. */
#define NOW    UINT64_C(1795256430500000)
#define SEC    UINT64_C(1000000)
#define HOUR   (3600 * SEC)
#define TODAY  UINT64_C(1795219200000000) /* UTC */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

static uint64_t ok(const char *text)
{
    uint64_t usec = 77;
    int r = when_parse(text, NOW, &usec);
    if (r < 0)
        fail_msg("%s: %d", text, r);
    return usec;
}

static void zone(const char *name)
{
    (void)setenv("TZ", name, 1);
    tzset();
}

static void test_relative(void **state)
{
    (void)state;
    zone("UTC");
    assert_int_equal(ok("now"), NOW);
    assert_int_equal(ok("-1h"), NOW - HOUR);
    assert_int_equal(ok("-1h30min"), NOW - HOUR * 3 / 2);
    assert_int_equal(ok("- 2 hours"), NOW - 2 * HOUR);
    assert_int_equal(ok("+5s"), NOW + 5 * SEC);
    assert_int_equal(ok("10 minutes ago"), NOW - HOUR / 6);
    assert_int_equal(ok("2 weeks ago"), NOW - 14 * 24 * HOUR);
    assert_int_equal(ok("1d left"), NOW + 24 * HOUR);
    assert_int_equal(ok("  -1 month  "), NOW - 2629800 * SEC);
    assert_int_equal(ok("@1795256430"), NOW - SEC / 2);
    assert_int_equal(ok("@1795256430.25"), NOW - SEC / 4);
}

static void test_calendar(void **state)
{
    (void)state;
    zone("UTC");
    assert_int_equal(ok("today"), TODAY);
    assert_int_equal(ok("Yesterday"), TODAY - 24 * HOUR);
    assert_int_equal(ok("tomorrow"), TODAY + 24 * HOUR);
    assert_int_equal(ok("tomorrow 06:00"), TODAY + 30 * HOUR);
    assert_int_equal(ok("yesterday  06:00 UTC"), TODAY - 18 * HOUR);
    assert_int_equal(ok("today 9:00"), TODAY + 9 * HOUR);
    assert_true(when_parse("tomorrow06:00", NOW, &(uint64_t){0}) < 0);
    assert_int_equal(ok("tomorrow noon"), TODAY + 36 * HOUR);
    assert_int_equal(ok("Midnight"), TODAY);
    assert_int_equal(ok("10pm"), TODAY + 22 * HOUR);
    assert_int_equal(ok("today 12 AM"), TODAY);
    assert_int_equal(ok("12:30pm"), TODAY + 25 * HOUR / 2);
    assert_int_equal(ok("2026-11-21 1:30:30 am UTC"), TODAY + 3 * HOUR / 2 + 30 * SEC);
    assert_true(when_parse("tomorrow 2026-11-22", NOW, &(uint64_t){0}) < 0);
    assert_int_equal(ok("2026-11-21"), TODAY);
    assert_int_equal(ok("2026-11-21 10:20"), TODAY + 10 * HOUR + 20 * 60 * SEC);
    assert_int_equal(ok("2026-11-21 10:20:30"), NOW - SEC / 2);
    assert_int_equal(ok("2026-11-21T10:20:30.5Z"), NOW);
    assert_int_equal(ok("2026-11-21  10:20:30.500000 UTC"), NOW);
    assert_int_equal(ok("Sat 2026-11-21 10:20:30 UTC"), NOW - SEC / 2);
    assert_int_equal(ok("saturday 2026-11-21"), TODAY);
    assert_int_equal(ok("9:00"), TODAY + 9 * HOUR);
    assert_int_equal(ok("23:59:59"), TODAY + 24 * HOUR - SEC);
    assert_int_equal(ok("2024-02-29"), UINT64_C(1709164800000000));
}

static void test_zones(void **state)
{
    (void)state;
    zone(BERLIN);
    assert_int_equal(ok("today"), TODAY - HOUR);
    assert_int_equal(ok("today UTC"), TODAY);
    assert_int_equal(ok("2026-11-21 11:20:30.5"), NOW);
    assert_int_equal(ok("2026-11-21 11:20:30.5 CET"), NOW);
    assert_int_equal(ok("2026-11-21 10:20:30.5 UTC"), NOW);
    assert_int_equal(ok("2026-07-01 12:00"), UINT64_C(1782900000000000)); /* summer */
    assert_int_equal(ok("2026-10-25"), UINT64_C(1792879200000000)); /* a day of 25 h */
    assert_int_equal(ok("2026-10-26"), UINT64_C(1792969200000000));
    zone("UTC");
}

static void test_bad(void **state)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "soon",
                                      "ago",
                                      "-",
                                      "+",
                                      "-1x",
                                      "1h",
                                      "2026-13-01",
                                      "2026-02-30",
                                      "2026-11-31",
                                      "2026-11",
                                      "26-11-21",
                                      "2026-11-21,",
                                      "2026-11-21x",
                                      "25:00",
                                      "10",
                                      "10p",
                                      "0am",
                                      "13pm",
                                      "10pm x",
                                      "noon 10:00",
                                      "10:60",
                                      "10:20:61",
                                      "10",
                                      "10:20:30.",
                                      "@",
                                      "@-5",
                                      "@1x",
                                      "Fri 2026-11-21",
                                      "2026-11-21 10:20 XYZ",
                                      "Sat today",
                                      "2026-11-21T",
                                      "todays",
                                      "1h ago ago",
                                      "now UTC"};
    uint64_t usec = 77;
    (void)state;
    zone("UTC");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (when_parse(bad[i], NOW, &usec) != -EINVAL)
            fail_msg("\"%s\" was taken", bad[i]);
    assert_int_equal(when_parse("-90y", NOW, &usec), -ERANGE);
    assert_int_equal(when_parse("1969-12-31", NOW, &usec), -ERANGE);
    assert_int_equal(when_parse("@99999999999999999999", NOW, &usec), -ERANGE);
    assert_int_equal(usec, 77); /* untouched */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_relative),
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

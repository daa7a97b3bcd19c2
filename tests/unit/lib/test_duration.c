/* Durations, sizes and array ranges of the command line. */
#include "wire/duration.h"
#include "client/size.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t ok(const char *text)
{
    uint64_t usec = 77;
    assert_int_equal(duration_parse(text, &usec), 0);
    return usec;
}

static void test_duration(void **state)
{
    (void)state;
    assert_int_equal(ok("30s"), 30000000);
    assert_int_equal(ok("30"), 30000000);
    assert_int_equal(ok("10m"), 600000000);
    assert_int_equal(ok("10min"), 600000000);
    assert_int_equal(ok("1h30m"), 5400000000);
    assert_int_equal(ok("1h 30m 5s"), 5405000000);
    assert_int_equal(ok("1.5s"), 1500000);
    assert_int_equal(ok("250ms"), 250000);
    assert_int_equal(ok("7us"), 7);
    assert_int_equal(ok("2d"), 172800000000);
    assert_int_equal(ok("0"), 0);
}

static void test_duration_bad(void **state)
{
    (void)state;
    const char *const bad[] = {"",   " ",  "s",   "-1s", "1x",  "1h-2m", "1.2.3s",
                               ".s", "1S", "ten", "1s,", "+1s", NULL};
    uint64_t usec = 77;
    for (const char *const *b = bad; *b; b++)
        assert_int_equal(duration_parse(*b, &usec), -EINVAL);
    assert_int_equal(duration_parse("1000000000h", &usec), -ERANGE);
    assert_int_equal(duration_parse("99999999999999999999999s", &usec), -ERANGE);
    assert_int_equal(duration_parse("36499d 2d", &usec), -ERANGE);
    assert_int_equal(usec, 77); /* untouched */
}

static void shows(uint64_t usec, const char *expect)
{
    char buf[32];
    duration_format(usec, buf, sizeof(buf));
    assert_string_equal(buf, expect);
}

static void test_format(void **state)
{
    (void)state;
    shows(999, "999us");
    shows(12000, "12ms");
    shows(4200000, "4.2s");
    shows(90000000, "1min 30s");
    shows(5400000000, "1h 30min");
    shows(100000000000, "1d 3h");
    char buf[32];
    duration_format_clock(9, buf, sizeof(buf));
    assert_string_equal(buf, "00:09");
    duration_format_clock(3723, buf, sizeof(buf));
    assert_string_equal(buf, "1:02:03");
}

static void test_size(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},          {"512", 512},    {"4K", 4096}, {"4KB", 4096},
        {"10M", 10 << 20}, {"1G", 1 << 30}, {"7B", 7},    {"2T", UINT64_C(2) << 40}};
    static const char *const bad[] = {"",     "K",   "-1", "1k", "1KK",
                                      "1.5M", "4 K", " 4", NULL};
    uint64_t bytes = 99;

    (void)state;
    for (const char *const *x = bad; *x; x++)
        assert_int_equal(size_parse(*x, &bytes), -EINVAL);
    assert_int_equal(size_parse("99999999999999999999", &bytes), -ERANGE);
    assert_int_equal(size_parse("9999999T", &bytes), -ERANGE);
    assert_int_equal(bytes, 99);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(size_parse(good[i].text, &bytes), 0);
        assert_int_equal(bytes, good[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_duration_bad),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

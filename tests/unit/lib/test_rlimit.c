/* Resource limits: text and back, and what is no limit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "wire/rlimit.h"

static void names(void **state)
{
    (void)state;
    for (int i = 0; i < RLIMIT_COUNT; i++)
        assert_int_equal(rlimit_number(rlimit_names[i]), i);
    assert_null(rlimit_names[RLIMIT_COUNT]);
    assert_int_equal(rlimit_number("nofile"), RLIMIT_NOFILE);
    assert_int_equal(rlimit_number("NOFILE"), -1);
    assert_int_equal(rlimit_number(""), -1);
}

static void values(void **state)
{
    static const struct {
        const char *text, *back;
        uint64_t soft, hard;
    } good[] = {
        {"1024:524288", "1024:524288", 1024, 524288},
        {"0", "0", 0, 0},
        {"0:infinity", "0:infinity", 0, RLIMIT_NONE},
        {"infinity", "infinity", RLIMIT_NONE, RLIMIT_NONE},
        {"infinity:infinity", "infinity", RLIMIT_NONE, RLIMIT_NONE},
        {"18446744073709551613:18446744073709551614",
         "18446744073709551613:18446744073709551614", UINT64_MAX - 2, UINT64_MAX - 1},
    };
    static const char *const bad[] = {"",
                                      "x",
                                      "1:",
                                      ":1",
                                      "1:2:3",
                                      "2:1",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1k",
                                      "infinit",
                                      "infinity:1",
                                      "18446744073709551615",
                                      "18446744073709551616"};
    uint64_t soft, hard;
    char buf[RLIMIT_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(rlimit_parse(good[i].text, &soft, &hard), 0);
        assert_true(soft == good[i].soft && hard == good[i].hard);
        assert_string_equal(rlimit_format(soft, hard, buf), good[i].back);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (rlimit_parse(bad[i], &soft, &hard) != -EINVAL)
            fail_msg("'%s' is taken", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(values)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

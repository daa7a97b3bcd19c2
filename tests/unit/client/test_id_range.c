/* Ids of jobs as people write them. */
#include "client/id_range.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void check(const char *text, uint64_t array, uint64_t first, uint64_t last)
{
    struct id_range r;
    char id[64];
    assert_int_equal(id_range_parse(text, &r), 0);
    assert_int_equal(r.array, array);
    assert_int_equal(r.first, first);
    assert_int_equal(r.last, last);
    assert_int_equal(r.with_array, strchr(text, '_') != NULL);
    id_range_text(&r, 0, id, sizeof(id));
    assert_memory_equal(id, text, strlen(id));
}

static void test_parse(void **state)
{
    (void)state;
    check("17", 0, 17, 17);
    check("12-40", 0, 12, 40);
    check("17_0", 17, 0, 0);
    check("17_3-20", 17, 3, 20);
    check("18446744073709551615", 0, UINT64_MAX, UINT64_MAX);
}

static void test_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "-",
                                      "1-",
                                      "-1",
                                      "01",
                                      "2-1",
                                      "1-02",
                                      "1_",
                                      "1_-1",
                                      "1_2-",
                                      "1_5-4",
                                      "1_2_3",
                                      "1-2-3",
                                      "1 ",
                                      " 1",
                                      "+1",
                                      "1_9223372036854775808",
                                      "18446744073709551616"};
    struct id_range r;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(id_range_parse(bad[i], &r), -EINVAL);
    assert_int_equal(id_range_parse("1-1000000", &r), 0);
    assert_int_equal(id_range_parse("1-1000001", &r), -E2BIG);
    assert_int_equal(id_range_parse("0-18446744073709551615", &r), -E2BIG);
}

static void format(const char *words, size_t size, const char *expected)
{
    char copy[256], buf[64], *ids[16];
    size_t n = 0;
    (void)strcpy(copy, words);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
        ids[n++] = w;
    id_range_format(ids, n, buf, size);
    assert_string_equal(buf, expected);
}

static void test_format(void **state)
{
    (void)state;
    format("7", 64, "7");
    format("1 2 3 5 7 8", 64, "1-3 5 7-8");
    format("4_1 4_2 5 6 6_7", 64, "4_1-2 5-6 6_7");
    format("3 2 1", 64, "3 2 1");
    format("1 3 5 7 9", 10, "1 3 5 7 9");
    format("1 3 5 7 9", 9, "1-9"); /* does not fit */
    format("1 2 3", 4, "1-3");
    format("100 102 104_1", 10, "100 ...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

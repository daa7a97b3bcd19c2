/* Indexes of arrays, as --array takes them. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "client/index_list.h"

/* As "FIRST-LAST:STEP ... %AT_ONCE" and the count. */
static void shows(const char *text, const char *want, uint64_t count)
{
    struct index_list l;
    char got[512] = "";
    assert_int_equal(index_list_parse(text, &l), 0);
    for (size_t i = 0; i < l.n; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got),
                       "%s%" PRIu64 "-%" PRIu64 ":%" PRIu64, i ? " " : "",
                       l.ranges[i].first, l.ranges[i].last, l.ranges[i].step);
    if (l.at_once)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), " %%%" PRIu64,
                       l.at_once);
    assert_string_equal(got, want);
    assert_int_equal(l.count, count);
    index_list_fini(&l);
}

static void lists(void **state)
{
    (void)state;
    shows("7", "7-7:1", 1);
    shows("0-0", "0-0:1", 1);
    shows("1-1000", "1-1000:1", 1000);
    shows("1-9223372036854775799", "1-9223372036854775799:1", 9223372036854775799u);
    shows("1-9:2", "1-9:2", 5);
    shows("1-10:2", "1-9:2", 5);
    shows("1-9:2,20", "1-9:2 20-20:1", 6);
    shows("20,1-3,2,3", "1-3:1 20-20:1", 4);
    shows("1-3,4-6", "1-6:1", 6);
    shows("1,3", "1-1:1 3-3:1", 2);
    shows("1,3,5,6,7,8,20", "1-5:2 6-8:1 20-20:1", 7);
    shows("1-5:9", "1-1:1", 1);
    shows("1,2,4,6,8", "1-2:1 4-8:2", 5);
    shows("1-9%4", "1-9:1 %4", 9);
    shows("1-9:2,20%1000000", "1-9:2 20-20:1 %1000000", 6);
}

static void no_lists(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",      "-",     "1-",    "-5",   "5-1",
        "1-2-3", "a-b",   "1 2",   "1..5", "1-5x",
        "1-9:",  "1:2:",  ",",     "1,",   ",1",
        "1,,2",  "1-9:0", "1-5:x", "1;2",  "99999999999999999999",
        "1-9%",  "1-9%0", "1%4,2", "1%4x", "1-9:2%-1",
        NULL};
    struct index_list l;
    for (const char *const *x = bad; *x; x++)
        assert_int_equal(index_list_parse(*x, &l), -EINVAL);
    assert_int_equal(index_list_parse("1-9%1000001", &l), -E2BIG);
    assert_int_equal(index_list_parse("1-2000000:1,2000001", &l), -E2BIG);
    char many[16384] = "1";
    for (unsigned i = 1, at = 1; i <= INDEX_LIST_RANGES; i++) {
        at += i % 2 ? 3 : 5;
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), ",%u", at);
    }
    assert_int_equal(index_list_parse(many, &l), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(no_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a pattern for names is charged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/query/job_view.h"

static size_t cost(const char *glob, const char *name)
{
    const struct job_filter f = {.name_glob = glob};
    struct job_spec *spec = job_spec_new();

    spec->name = strdup(name);
    const size_t n = job_filter_cost(spec, &f);
    job_spec_unref(spec);
    return n / 4;
}

/* In steps of fnmatch(): the longest piece behind a star at each byte of the name. */
static void a_pattern_costs_what_it_may_take(void **state)
{
    (void)state;
    assert_int_equal(cost(NULL, "a name"), 0);
    assert_int_equal(cost("abc", "0123456789"), 3);
    assert_int_equal(cost("abc*", "0123456789"), 4);
    assert_int_equal(cost("*abc", "0123456789"), 4 + 3 * 10);
    assert_int_equal(cost("aaaa*bb*ccc*", "0123456789"), 12 + 3 * 10);
    assert_int_equal(job_filter_cost(NULL, &(struct job_filter){.name_glob = "*a"}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_costs_what_it_may_take),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which jobs of a batch say that they have a local name, or wait for one. */
#include "wire/spec_local.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void says(const char *text, bool want)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    if (spec_says_local(value) != want)
        fail_msg("%s: %d", text, !want);
    json_decref(value);
}

static void test_what_says_a_name(void **state)
{
    (void)state;
    says("{\"local\":\"a\"}", true);
    says("{\"local\":7,\"nothing\":1}", true);
    says("{\"local\":\"\"}", true);
    says("{\"after\":[{\"job\":\"1\"},{\"local\":\"a\"}]}", true);
    says("{\"after\":[3,{\"job\":\"1\",\"local\":false}]}", true);
    says("{\"after\":{\"local\":\"a\"}}", true);
}

static void test_what_says_none(void **state)
{
    (void)state;
    says("{}", false);
    says("{\"local\":null}", false);
    says("{\"name\":\"local\",\"after\":[\"local\",{\"job\":\"1\"}]}", false);
    says("{\"after\":[{\"job\":\"1\",\"local\":null}]}", false);
    says("{\"after\":\"local\"}", false);
    says("[{\"local\":\"a\"}]", false);
    says("\"local\"", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_says_a_name),
        cmocka_unit_test(test_what_says_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a spec gets of the defaults of its batch. */
#include "wire/spec_defaults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static json_t *parsed(const char *text)
{
    json_error_t why;
    json_t *ret = json_loads(text, 0, &why);

    if (!ret)
        fail_msg("%s: %s", text, why.text);
    return ret;
}

static void gets(const char *spec, const char *defaults, const char *want)
{
    json_t *s = parsed(spec), *d = parsed(defaults), *before = json_deep_copy(d),
           *w = parsed(want);

    assert_int_equal(spec_add_defaults(s, d), 0);
    if (!json_equal(s, w))
        fail_msg("%s and %s: %s", spec, defaults, json_dumps(s, 0));
    assert_true(json_equal(d, before)); /* others get them too */
    json_decref(s);
    json_decref(d);
    json_decref(before);
    json_decref(w);
}

static void test_fields_that_are_missing(void **state)
{
    (void)state;
    gets("{\"argv\":[\"x\"]}", "{\"cwd\":\"/x\",\"queue\":\"slow\"}",
         "{\"argv\":[\"x\"],\"cwd\":\"/x\",\"queue\":\"slow\"}");
    gets("{\"argv\":[\"x\"],\"queue\":\"fast\"}", "{\"queue\":\"slow\"}",
         "{\"argv\":[\"x\"],\"queue\":\"fast\"}");
    gets("{\"argv\":[\"x\"],\"queue\":null}", "{\"queue\":\"slow\"}",
         "{\"argv\":[\"x\"],\"queue\":\"slow\"}");
    gets("{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"a\":\"3\",\"b\":\"2\"}}",
         "{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}");
    gets("{\"after\":[]}", "{\"after\":[{\"job\":\"1\"}]}", "{\"after\":[]}");
    gets("{\"env\":{\"A\":\"1\"}}", "{\"env\":{\"B\":\"2\"},\"env_given\":[\"B\"]}",
         "{\"env\":{\"A\":\"1\",\"B\":\"2\"},\"env_given\":[\"B\",\"A\"]}");
    gets("{}", "{}", "{}");
}

static void test_merged_by_name(void **state)
{
    (void)state;
    gets("{\"env\":{\"A\":\"own\"}}", "{\"env\":{\"A\":\"1\",\"B\":\"2\"}}",
         "{\"env\":{\"A\":\"own\",\"B\":\"2\"}}");
    gets("{\"env\":{}}", "{\"env\":{\"A\":\"1\"}}", "{\"env\":{\"A\":\"1\"}}");
    gets("{\"limits\":{\"output_bytes\":1}}",
         "{\"limits\":{\"output_bytes\":2,\"rlimits\":{\"core\":\"0\"}}}",
         "{\"limits\":{\"output_bytes\":1,\"rlimits\":{\"core\":\"0\"}}}");
    gets("{\"limits\":{\"rlimits\":{\"core\":\"1\"}}}",
         "{\"limits\":{\"rlimits\":{\"core\":\"0\",\"nofile\":\"9\"}}}",
         "{\"limits\":{\"rlimits\":{\"core\":\"1\",\"nofile\":\"9\"}}}");
}

static void test_a_star_says_all_limits(void **state)
{
    (void)state;
    gets("{\"limits\":{\"rlimits\":{\"*\":\"infinity\"}}}",
         "{\"limits\":{\"rlimits\":{\"core\":\"0\"}}}",
         "{\"limits\":{\"rlimits\":{\"*\":\"infinity\"}}}");
}

/* It is refused by its own field then, not changed into something that is right. */
static void test_of_another_type(void **state)
{
    (void)state;
    gets("{\"env\":7}", "{\"env\":{\"A\":\"1\"}}", "{\"env\":7}");
    gets("{\"env\":{\"A\":\"1\"}}", "{\"env\":7}", "{\"env\":{\"A\":\"1\"}}");
    gets("{\"limits\":{\"rlimits\":7}}", "{\"limits\":{\"rlimits\":{\"core\":\"0\"}}}",
         "{\"limits\":{\"rlimits\":7}}");
}

static void test_jobs_without_a_process(void **state)
{
    (void)state;
    const char *all = "{\"env\":{\"A\":\"1\"},\"cwd\":\"/\",\"umask\":7,\"limits\":{},"
                      "\"queue\":\"q\"}";

    gets("{\"kind\":\"noop\"}", all, "{\"kind\":\"noop\",\"queue\":\"q\"}");
    gets("{\"kind\":\"exec\"}", all,
         "{\"kind\":\"exec\",\"env\":{\"A\":\"1\"},\"cwd\":\"/\",\"umask\":7,"
         "\"limits\":{},\"queue\":\"q\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_that_are_missing),
        cmocka_unit_test(test_merged_by_name),
        cmocka_unit_test(test_a_star_says_all_limits),
        cmocka_unit_test(test_of_another_type),
        cmocka_unit_test(test_jobs_without_a_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

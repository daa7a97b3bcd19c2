/* Field tables: every type, its bounds, and the path and the reason of each error. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/fields.h"

struct inner {
    int64_t first;
    uint16_t last;
};

struct all {
    bool yes, has_inner;
    int32_t small;
    uint64_t any;
    const char *text;
    char *copy;
    char **list;
    unsigned choice;
    uint64_t set;
    struct inner inner;
    json_t *object, *array;
    int custom;
};

static int read_even(json_t *value, void *member, struct field_error *err)
{
    if (json_integer_value(value) % 2)
        return field_fail(err, "[0]", "must be even");
    *(int *)member = (int)json_integer_value(value);
    return 0;
}

static const char *const names[] = {"red", "green", "blue", NULL};
static const struct field inner_fields[] = {
    FIELD(struct inner, first, FIELD_INT, .required = true),
    FIELD(struct inner, last, FIELD_INT, .max = 60000),
    {.name = NULL},
};
static const struct field fields[] = {
    FIELD(struct all, yes, FIELD_BOOL),
    FIELD(struct all, small, FIELD_INT, .min = -5, .max = 5),
    FIELD(struct all, any, FIELD_INT),
    FIELD(struct all, text, FIELD_STRING, .min = 1, .max = 4),
    FIELD(struct all, copy, FIELD_STRDUP),
    FIELD(struct all, list, FIELD_STRINGS, .min = 1, .max = 2),
    FIELD(struct all, choice, FIELD_ENUM, .names = names),
    FIELD(struct all, set, FIELD_SET, .names = names),
    FIELD(struct all, inner, FIELD_STRUCT, .fields = inner_fields,
          .present = FIELD_PRESENT(struct all, has_inner)),
    FIELD(struct all, object, FIELD_OBJECT),
    FIELD(struct all, array, FIELD_ARRAY, .max = 3),
    FIELD(struct all, custom, FIELD_CUSTOM, .read = read_even),
    {.name = NULL},
};

static int read_text(const char *text, unsigned flags, struct all *a, json_t **ret,
                     struct field_error *err)
{
    *ret = json_loads(text, JSON_ALLOW_NUL, NULL);
    assert_non_null(*ret);
    *a = (struct all){.small = 3};
    return fields_read(fields, *ret, flags, a, err);
}

static void all_fini(struct all *a, json_t *v)
{
    free(a->copy);
    field_strings_free(a->list);
    json_decref(v);
}

static void every_type(void **state)
{
    struct field_error err;
    struct all a;
    json_t *v;

    (void)state;
    assert_int_equal(
        read_text(
            "{\"yes\":true,\"small\":-5,\"any\":9223372036854775807,\"text\":\"abcd\","
            "\"copy\":\"c\",\"list\":[\"x\",\"\"],\"choice\":\"blue\","
            "\"set\":[\"red\",\"blue\"],\"inner\":{\"first\":-1,\"last\":60000},"
            "\"object\":{},\"array\":[1,2,3],\"custom\":8}",
            0, &a, &v, &err),
        0);
    assert_true(a.yes);
    assert_int_equal(a.small, -5);
    assert_int_equal(a.any, INT64_MAX);
    assert_string_equal(a.text, "abcd");
    assert_string_equal(a.copy, "c");
    assert_string_equal(a.list[0], "x");
    assert_string_equal(a.list[1], "");
    assert_null(a.list[2]);
    assert_int_equal(a.choice, 2);
    assert_int_equal(a.set, 5);
    assert_true(a.has_inner);
    assert_int_equal(a.inner.first, -1);
    assert_int_equal(a.inner.last, 60000);
    assert_true(json_is_object(a.object));
    assert_int_equal(json_array_size(a.array), 3);
    assert_int_equal(a.custom, 8);
    all_fini(&a, v);
}

static void whole_numbers_are_integers(void **state)
{
    static const char *const texts[] = {"{\"small\":-4.0,\"any\":6e+07}",
                                        "{\"small\":-4,\"any\":60000000.0}",
                                        "{\"small\":-0.4E1,\"any\":6.0E7}"};
    struct field_error err;
    json_t *v;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct all a = {0};
        assert_int_equal(read_text(texts[i], 0, &a, &v, &err), 0);
        assert_int_equal(a.small, -4);
        assert_int_equal(a.any, 60000000);
        all_fini(&a, v);
    }
}

static void null_is_absent(void **state)
{
    struct field_error err;
    struct all a;
    json_t *v;

    (void)state;
    assert_int_equal(
        read_text("{\"small\":null,\"inner\":null,\"text\":null}", 0, &a, &v, &err), 0);
    assert_int_equal(a.small, 3);
    assert_false(a.has_inner);
    all_fini(&a, v);
    a = (struct all){.small = 3};
    assert_int_equal(fields_read(fields, NULL, 0, &a, &err), 0);
}

static void fails(const char *text, const char *path, const char *reason)
{
    struct field_error err = {"", "", 0};
    struct all a;
    json_t *v;

    assert_int_equal(read_text(text, 0, &a, &v, &err), -EINVAL);
    assert_int_equal(err.code, -EINVAL);
    assert_string_equal(err.path, path);
    if (!strstr(err.reason, reason))
        fail_msg("%s: '%s' does not say '%s'", text, err.reason, reason);
    all_fini(&a, v);
}

static void every_error(void **state)
{
    (void)state;
    fails("{\"elsewhere\":1}", "elsewhere", "is not known here; known are: yes, small");
    fails("{\"smal\":1}", "smal", "is not known here; did you mean small?");
    fails("{\"yes\":1}", "yes", "must be true or false");
    fails("{\"small\":6}", "small", "must be an integer from -5 to 5");
    fails("{\"small\":-6}", "small", "from -5 to 5");
    fails("{\"small\":1.5}", "small", "must be an integer");
    fails("{\"small\":6.0}", "small", "must be an integer from -5 to 5");
    fails("{\"any\":9007199254740994.0}", "any", "must be an integer of 64 bits");
    fails("{\"any\":-1e300}", "any", "must be an integer of 64 bits");
    fails("{\"small\":\"1\"}", "small", "must be an integer");
    fails("{\"any\":1e30}", "any", "must be an integer of 64 bits");
    fails("{\"text\":\"\"}", "text", "must not be empty");
    fails("{\"text\":\"abcde\"}", "text", "at most 4 bytes");
    fails("{\"text\":\"a\\u0000\"}", "text", "NUL");
    fails("{\"text\":7}", "text", "must be a string");
    fails("{\"list\":\"x\"}", "list", "must be an array");
    fails("{\"list\":[]}", "list", "must not be empty");
    fails("{\"list\":[\"a\",\"b\",\"c\"]}", "list", "at most 2 entries, not 3");
    fails("{\"list\":[\"a\",7]}", "list[1]", "must be a string");
    fails("{\"list\":[\"a\",\"\\u0000\"]}", "list[1]", "NUL");
    fails("{\"choice\":\"pink\"}", "choice",
          "must be one of \"red\", \"green\", \"blue\"");
    fails("{\"choice\":1}", "choice", "must be one of");
    fails("{\"set\":[\"red\",\"pink\"]}", "set[1]", "must be one of");
    fails("{\"set\":\"red\"}", "set", "must be an array of names");
    fails("{\"inner\":{}}", "inner.first", "is missing");
    fails("{\"inner\":{\"first\":null}}", "inner.first", "is missing");
    fails("{\"inner\":{\"first\":1,\"last\":60001}}", "inner.last", "from 0 to 60000");
    fails("{\"inner\":{\"first\":1,\"third\":1}}", "inner.third",
          "known are: first, last");
    fails("{\"inner\":[]}", "inner", "must be an object");
    fails("{\"object\":[]}", "object", "must be an object");
    fails("{\"array\":{}}", "array", "must be an array");
    fails("{\"array\":[1,2,3,4]}", "array", "at most 3 entries");
    fails("{\"custom\":3}", "custom[0]", "must be even");
}

static void readers_of_answers_ignore_what_is_new(void **state)
{
    struct field_error err;
    struct all a;
    json_t *v;

    (void)state;
    assert_int_equal(read_text("{\"nope\":1,\"inner\":{\"first\":4,\"new\":[]}}",
                               FIELDS_IGNORE_UNKNOWN, &a, &v, &err),
                     0);
    assert_int_equal(a.inner.first, 4);
    all_fini(&a, v);
}

static void long_names_are_cut(void **state)
{
    char text[1100] = "{\"inner\":{\"first\":1,\"";
    struct field_error err;
    struct all a;
    json_t *v;

    (void)state;
    for (int i = 0; i < 500; i++)
        strcat(text, "\xc3\xa9");
    strcat(text, "\":1}}");
    assert_int_equal(read_text(text, 0, &a, &v, &err), -EINVAL);
    assert_memory_equal(err.path, "inner.\xc3\xa9", 8);
    assert_true(strlen(err.path) < sizeof(err.path));
    all_fini(&a, v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type),
        cmocka_unit_test(whole_numbers_are_integers),
        cmocka_unit_test(null_is_absent),
        cmocka_unit_test(every_error),
        cmocka_unit_test(readers_of_answers_ignore_what_is_new),
        cmocka_unit_test(long_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

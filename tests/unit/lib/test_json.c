/* JSON within bounds: what is refused, what comes through to be named, what goes out. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/json.h"
#include "wire/writer.h"

#define PLENTY (8u << 20)

static int parse(const char *text, json_t **ret, struct volt_error *err)
{
    return wire_parse(text, strlen(text), PLENTY, ret, err);
}

static void refused(const char *text, const char *why)
{
    struct volt_error err = {""};
    json_t *v;

    assert_int_equal(parse(text, &v, &err), -EINVAL);
    if (!strstr(err.text, why))
        fail_msg("'%s' is refused with '%s', not '%s'", text, err.text, why);
}

static void what_is_refused(void **state)
{
    (void)state;
    refused("", "");
    refused("{", "line 1");
    refused("[]", "not a JSON object");
    refused("{} {}", "end of file");
    refused("{\"a\":1,\"a\":2}", "duplicate");
    refused("{\"a\":\"\xff\"}", "unable to decode");
    refused("{\"a\":\"\xc0\x80\"}", "unable to decode");
    refused("{\"a\\u0000b\":1}", "NUL");
    refused("{\"a\":1e999}", "overflow");
    refused("{'a':1}", "string");
}

static void nul_and_big_integers_come_through(void **state)
{
    json_t *v;

    (void)state;
    assert_int_equal(parse("{\"a\":\"x\\u0000y\"}", &v, NULL), 0);
    assert_int_equal(json_string_length(json_object_get(v, "a")), 3);
    json_decref(v);

    assert_int_equal(parse("{\"a\":18446744073709551616,\"b\":[7,{\"c\":-3}],"
                           "\"d\":9007199254740993}",
                           &v, NULL),
                     0);
    assert_true(json_is_real(json_object_get(v, "a")));
    assert_true(json_is_integer(json_array_get(json_object_get(v, "b"), 0)));
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(json_object_get(v, "b"), 1), "c")),
                     -3);
    /* Not exact as a real: better refused than changed. */
    assert_true(json_is_real(json_object_get(v, "d")));
    json_decref(v);

    assert_int_equal(parse("{\"a\":9223372036854775807}", &v, NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(v, "a")), INT64_MAX);
    json_decref(v);
}

/* Whatever allocation it is that exceeds the budget: all of the text arrives, or none. */
static void no_budget_alters_a_string(void **state)
{
    char text[400], want[300];
    int parsed = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(want) - 1; i++)
        want[i] = (char)('a' + i % 26);
    want[sizeof(want) - 1] = '\0';
    int len = snprintf(text, sizeof(text), "{\"argv\":[\"%s\"]}", want);
    for (size_t bytes = 0; bytes < 3000; bytes++) {
        json_t *value = NULL;
        if (wire_parse(text, (size_t)len, bytes, &value, NULL) < 0)
            continue;
        const json_t *argv = json_object_get(value, "argv");
        assert_string_equal(json_string_value(json_array_get(argv, 0)), want);
        json_decref(value);
        parsed++;
    }
    assert_true(parsed > 0 && parsed < 3000);
}

/* 1 MiB of {} is 80 MiB of heap: it stops at the budget. */
static void budget(void **state)
{
    size_t len = 1 << 20;
    char *text = malloc(len + 1);
    struct volt_error err = {""};
    json_t *v;

    (void)state;
    assert_non_null(text);
    memcpy(text, "{\"a\":[{}", 8);
    for (size_t i = 8; i + 3 < len; i += 3)
        memcpy(text + i, ",{}", 4);
    strcat(text, "]}");
    assert_int_equal(parse(text, &v, &err), -E2BIG);
    assert_non_null(strstr(err.text, "8388608"));
    assert_int_equal(wire_parse(text, strlen(text), 256u << 20, &v, &err), 0);
    json_decref(v);
    /* Outside a parse nothing is counted. */
    v = json_array();
    assert_int_equal(json_array_append_new(v, json_string("free")), 0);
    json_decref(v);
    free(text);
}

/* Each value has the budget for itself. */
static void entries(void **state)
{
    static const char text[] = " {\"a\":[1]} ,\n[2],\"x\",-3, true";
    static const char *const want[] = {"{\"a\":[1]}", "[2]", "\"x\"", "-3", "true"};
    struct volt_error err = {""};
    json_t *v = NULL;
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(wire_parse_entry(text, strlen(text), &at, 800, &v, &err), 1);
        char *got = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(got, want[i]);
        free(got);
        json_decref(v);
    }
    assert_int_equal(wire_parse_entry(text, strlen(text), &at, 800, &v, &err), 0);
    at = 0;
    assert_int_equal(wire_parse_entry(text, strlen(text), &at, 100, &v, &err), -E2BIG);
    at = 0;
    assert_int_equal(wire_parse_entry("1 2", 3, &at, 800, &v, &err), 1);
    json_decref(v);
    assert_int_equal(wire_parse_entry("1 2", 3, &at, 800, &v, &err), -EINVAL);
    assert_non_null(strstr(err.text, "comma"));
}

static void encode(void **state)
{
    struct wire_buf b = {0};
    json_t *small = json_pack("{s:i}", "a", 1), *large = json_object();
    char *text = malloc(100001);

    (void)state;
    memset(text, 'x', 100000);
    text[100000] = '\0';
    json_object_set_new(large, "t", json_string(text));
    assert_int_equal(wire_encode(&b, small), 0);
    assert_int_equal(wire_encode(&b, large), 0);
    assert_int_equal(wire_encode(&b, small), 0);
    assert_string_equal(wire_buf_at(&b), "{\"a\":1}");
    wire_buf_consume(&b, 8);
    assert_int_equal(strlen(wire_buf_at(&b)), 100000 + strlen("{\"t\":\"\"}"));
    wire_buf_consume(&b, strlen(wire_buf_at(&b)) + 1);
    assert_string_equal(wire_buf_at(&b), "{\"a\":1}");
    assert_int_equal(wire_buf_len(&b), 8);
    wire_buf_fini(&b);
    free(text);
    json_decref(small);
    json_decref(large);
}

static void text_of_any_bytes(void **state)
{
    json_t *t = wire_text("caf\xc3\xa9"), *cut = wire_text("caf\xc3");

    (void)state;
    assert_string_equal(json_string_value(t), "caf\xc3\xa9");
    assert_string_equal(json_string_value(cut), "caf?");
    json_decref(t);
    json_decref(cut);
}

static void becomes(const char *text, const char *want)
{
    json_t *t = wire_text(text);

    assert_string_equal(json_string_value(t), want);
    json_decref(t);
}

/* Of a text that was cut within a character all others stay. */
static void text_that_was_cut(void **state)
{
    (void)state;
    becomes("\xe2\x82\xac\xe2\x82 -> \xe2\x82\xac\xe2", "\xe2\x82\xac? -> \xe2\x82\xac?");
    becomes("\xc3\xa9 \xf0\x9f\x98\x80 \xf0\x9f\x98", "\xc3\xa9 \xf0\x9f\x98\x80 ?");
    becomes("\xf0\x9f\xc3\xa9\xff\x80x", "?\xc3\xa9??x");
    becomes("\xc1\x81\xe0\x9f\x80\xed\xa0\x80\xf4\x90\x80\x80", "????????????");
}

/* All beginnings with bytes at the bounds of what may follow: a text comes of each, and
 * what is one already stays as it is. */
static void text_of_all_beginnings(void **state)
{
    static const unsigned char seconds[] = {1,    0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                            0xa0, 0xbf, 0xc0, 0xff};
    static const unsigned char thirds[] = {1, 0x7f, 0x80, 0xbf, 0xc0};

    (void)state;
    for (unsigned i = 0; i < 255 * 10 * 5 * 5; i++) {
        const unsigned char text[] = {(unsigned char)(1 + i % 255), seconds[i / 255 % 10],
                                      thirds[i / 2550 % 5], thirds[i / 12750], 0};
        json_t *plain = json_string((const char *)text);
        json_t *t = wire_text((const char *)text);

        assert_non_null(t);
        assert_int_equal(json_equal(t, plain), plain != NULL);
        json_decref(plain);
        json_decref(t);
    }
}

/* Copied behind what is there, or, when nothing is and it is large, not copied at all. */
static void nothing_is_appended(void **state)
{
    struct wire_buf b = {0};

    (void)state;
    for (int i = 0; i < 2; i++) /* without room, and with */
        assert_int_equal(wire_buf_append(&b, NULL, 0), 0);
    assert_int_equal(wire_buf_len(&b), 0);
    assert_int_equal(wire_buf_append(&b, "a", 1), 0);
    assert_int_equal(wire_buf_append(&b, NULL, 0), 0);
    assert_int_equal(wire_buf_len(&b), 1);
    wire_buf_fini(&b);
}

static void wrapped(void **state)
{
    static const size_t lengths[] = {1, 4096, 5000, 100000};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t n = lengths[i / 2], before = i % 2 ? 6 : 0;
        struct wire_buf b = {0}, text = {0};

        if (before)
            assert_int_equal(wire_buf_append(&b, "earlier", before), 0);
        for (size_t c = 0; c < n; c++)
            assert_int_equal(wire_buf_append(&text, &"0123456789"[c % 10], 1), 0);
        assert_int_equal(wire_buf_wrap(&b, "head:", &text, "}", 2), 0);
        assert_int_equal(wire_buf_len(&b), before + 5 + n + 2);
        assert_memory_equal(wire_buf_at(&b), "earlier", before);
        assert_memory_equal(wire_buf_at(&b) + before, "head:", 5);
        for (size_t c = 0; c < n; c++)
            assert_int_equal(wire_buf_at(&b)[before + 5 + c], '0' + c % 10);
        assert_string_equal(wire_buf_at(&b) + before + 5 + n, "}");
        wire_buf_fini(&b);
        wire_buf_fini(&text);
    }
}

/* --- the writer --------------------------------------------------------------------- */

/* The writer's text is that of jansson for the same values. */
static void written_as_encoded(void **state)
{
    static const char *const texts[] = {
        "",         "plain",    "a \"b\" \\ / c", "\x01\x1f\x7f",
        "\xc3\xa4", "\xff\xc3", "line\nand\ttab"};
    static const int64_t numbers[] = {0, 1, -1, 9, 10, INT64_MAX, INT64_MIN};
    struct wire_buf text = {NULL}, want = {NULL};
    struct wire_writer w = {.out = &text};
    json_t *list = json_array(), *inner = json_object(), *all = json_object();

    (void)state;
    wire_open(&w, NULL, '{');
    wire_open(&w, "list", '[');
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        wire_put_text(&w, NULL, texts[i]);
        wire_add(&list, wire_text(texts[i]));
    }
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        wire_put_int(&w, NULL, numbers[i]);
        wire_add(&list, json_integer(numbers[i]));
    }
    wire_close(&w, ']');
    wire_open(&w, "empty", '[');
    wire_close(&w, ']');
    wire_open(&w, "inner", '{');
    wire_put_bool(&w, "yes", true);
    wire_put_bool(&w, "no", false);
    wire_put_raw(&w, "raw", "[1,2]", 5);
    wire_close(&w, '}');
    wire_put_json(&w, "value", json_pack("{s:[s,i]}", "k", "\"", 3));
    wire_close(&w, '}');
    assert_int_equal(w.error, 0);

    wire_set(&inner, "yes", json_true());
    wire_set(&inner, "no", json_false());
    wire_set(&inner, "raw", json_pack("[i,i]", 1, 2));
    wire_set(&all, "list", list);
    wire_set(&all, "empty", json_array());
    wire_set(&all, "inner", inner);
    wire_set(&all, "value", json_pack("{s:[s,i]}", "k", "\"", 3));
    assert_int_equal(wire_encode(&want, all), 0);
    assert_int_equal(wire_buf_append(&text, "", 1), 0);
    assert_string_equal(wire_buf_at(&text), wire_buf_at(&want));
    json_decref(all);
    wire_buf_fini(&text);
    wire_buf_fini(&want);
}

static void nothing_is_written_after_a_failure(void **state)
{
    struct wire_buf text = {NULL};
    struct wire_writer w = {.out = &text};

    (void)state;
    wire_open(&w, NULL, '{');
    wire_put_json(&w, "a", NULL);
    size_t len = wire_buf_len(&text);
    assert_int_equal(w.error, -ENOMEM);
    wire_put_int(&w, "b", 1);
    wire_put_text(&w, "c", "\"");
    wire_put_json(&w, "d", json_true());
    wire_close(&w, '}');
    assert_int_equal(w.error, -ENOMEM);
    assert_int_equal(wire_buf_len(&text), len);
    wire_buf_fini(&text);
}

static void building_stops_at_the_first_failure(void **state)
{
    json_t *o = json_object();

    (void)state;
    wire_set(&o, "a", json_true());
    wire_set(&o, "b", NULL);
    assert_null(o);
    wire_set(&o, "c", json_true());
    assert_null(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(nul_and_big_integers_come_through),
        cmocka_unit_test(budget),
        cmocka_unit_test(no_budget_alters_a_string),
        cmocka_unit_test(entries),
        cmocka_unit_test(encode),
        cmocka_unit_test(text_of_any_bytes),
        cmocka_unit_test(text_that_was_cut),
        cmocka_unit_test(text_of_all_beginnings),
        cmocka_unit_test(nothing_is_appended),
        cmocka_unit_test(wrapped),
        cmocka_unit_test(written_as_encoded),
        cmocka_unit_test(nothing_is_written_after_a_failure),
        cmocka_unit_test(building_stops_at_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

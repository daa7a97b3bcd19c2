/* The frame splitter and the pre-scan: messages in any pieces, and every limit at its
 * edge. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "wire/frame.h"

#define LARGE "org.voltd.jobs.SubmitBatch"

static struct frame_reader reader(void)
{
    return (struct frame_reader){.limits = {.usual = {1000, 100},
                                            .depth = 4,
                                            .large_method = LARGE,
                                            .large_list = "specs",
                                            .usual_list = "ids",
                                            .holder = "spec",
                                            .objects = {"env", "limits"},
                                            .large = {100000, 10000}}};
}

static void feed(struct frame_reader *r, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t room, n;
        char *at;
        assert_int_equal(frame_space(r, &at, &room), 0);
        n = len < room ? len : room;
        memcpy(at, bytes, n);
        frame_filled(r, n);
        bytes += n;
        len -= n;
    }
}

static long page_faults(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* Where realloc() is the C library's, which moves pages. */
static void a_buffer_that_grows_is_not_copied(void **state)
{
    enum { SIZE = 16 << 20, PAGE = 4096 };
    struct wire_buf b = {.data = NULL};

    (void)state;
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024); /* as voltd does */
    assert_int_equal(wire_buf_reserve(&b, SIZE), 0);
    memset(b.data, 'x', b.cap);
    b.end = b.cap;
    const long before = page_faults();
    assert_int_equal(wire_buf_reserve(&b, 1), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_in_range(page_faults() - before, 0, SIZE / PAGE / 8);
#else
    assert_true(page_faults() >= before);
#endif
    assert_int_equal(wire_buf_len(&b), SIZE);
    assert_true(b.data[0] == 'x' && b.data[SIZE - 1] == 'x');
    wire_buf_fini(&b);
}

static void expect(struct frame_reader *r, const char *text)
{
    char *message;
    size_t len;

    assert_int_equal(frame_next(r, &message, &len), SCAN_END);
    assert_int_equal(len, strlen(text));
    assert_string_equal(message, text);
    /* It stays until it is given back. */
    assert_int_equal(frame_next(r, &message, &len), SCAN_END);
    assert_string_equal(message, text);
    frame_done(r);
}

static enum scan_result next(struct frame_reader *r)
{
    char *message;
    size_t len;
    return frame_next(r, &message, &len);
}

static enum scan_result scan_all(const char *text, size_t len, size_t piece)
{
    struct frame_reader r = reader();
    enum scan_result got = SCAN_MORE;

    for (size_t i = 0; i < len && got == SCAN_MORE; i += piece) {
        feed(&r, text + i, len - i < piece ? len - i : piece);
        got = next(&r);
    }
    frame_fini(&r);
    return got;
}

/* Every way of cutting gives the same answer. */
static enum scan_result scan(const char *text, size_t len)
{
    enum scan_result whole = scan_all(text, len, len);

    assert_int_equal(scan_all(text, len, 1), whole);
    assert_int_equal(scan_all(text, len, 7), whole);
    return whole;
}

static void one_read_many_messages(void **state)
{
    struct frame_reader r = reader();
    static const char bytes[] = "{\"a\":1}\0{}\0{\"b\"";

    (void)state;
    feed(&r, bytes, sizeof(bytes) - 1);
    expect(&r, "{\"a\":1}");
    expect(&r, "{}");
    assert_int_equal(next(&r), SCAN_MORE);
    assert_int_equal(frame_pending(&r), 4);
    feed(&r, ":2}", 4);
    expect(&r, "{\"b\":2}");
    assert_int_equal(frame_pending(&r), 0);
    frame_fini(&r);
}

static void byte_by_byte(void **state)
{
    struct frame_reader r = reader();
    static const char bytes[] = "{\"a\":\"x\\\"y\"}";

    (void)state;
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        feed(&r, bytes + i, 1);
        assert_int_equal(next(&r), SCAN_MORE);
    }
    feed(&r, "", 1);
    expect(&r, bytes);
    frame_fini(&r);
}

static void size_at_its_edge(void **state)
{
    char text[1002];

    (void)state;
    memset(text, ' ', sizeof(text));
    text[1000] = '\0';
    assert_int_equal(scan(text, 1001), SCAN_END);
    text[1000] = ' ';
    text[1001] = '\0';
    assert_int_equal(scan(text, 1002), SCAN_TOO_LARGE);
    /* Refused before the end is there. */
    assert_int_equal(scan(text, 1001), SCAN_TOO_LARGE);
}

static void depth_at_its_edge(void **state)
{
    (void)state;
    assert_int_equal(scan("[[[[]]]]", 9), SCAN_END);
    assert_int_equal(scan("[[[[[]]]]]", 11), SCAN_TOO_DEEP);
    assert_int_equal(scan("{\"a\":[{\"b\":[[", 13), SCAN_TOO_DEEP);
    assert_int_equal(scan("\"[[[[[[\"", 9), SCAN_END);
    assert_int_equal(scan("\"\\\"[[[[[[\"", 11), SCAN_END);
    assert_int_equal(scan("\"\\\\\"[[[[[", 10), SCAN_TOO_DEEP);
    assert_int_equal(scan("]]]]]]]]]", 10), SCAN_END); /* jansson refuses it */
}

static void tokens_at_their_edge(void **state)
{
    char text[400] = "[";

    (void)state;
    for (int i = 0; i < 99; i++)
        strcat(text, i ? ",1" : "1");
    strcat(text, "]");
    assert_int_equal(scan(text, strlen(text) + 1), SCAN_END);
    text[strlen(text) - 1] = '\0';
    strcat(text, ",1]");
    assert_int_equal(scan(text, strlen(text) + 1), SCAN_TOO_MANY_TOKENS);
}

/* {"method": NAME, ...} padded to len bytes. */
static char *padded(const char *head, size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, ' ', len);
    memcpy(text, head, strlen(head));
    text[len - 1] = '}';
    text[len] = '\0';
    return text;
}

static void check_padded(const char *head, enum scan_result want)
{
    char *text = padded(head, 2000);

    assert_int_equal(scan(text, 2001), want);
    free(text);
}

static void only_the_large_method_may_be_large(void **state)
{
    (void)state;
    check_padded("{\"method\":\"" LARGE "\"", SCAN_END);
    check_padded("{ \"parameters\" : {\"a\":[]} ,\"method\" : \"" LARGE "\"", SCAN_END);
    check_padded("{\"method\":\"" LARGE "s\"", SCAN_TOO_LARGE);
    check_padded("{\"method\":\"org.voltd.jobs.Submit\"", SCAN_TOO_LARGE);
    check_padded("{\"x\":\"method\",\"y\":\"" LARGE "\"", SCAN_TOO_LARGE);
    check_padded("{\"parameters\":{\"method\":\"" LARGE "\"}", SCAN_TOO_LARGE);
    check_padded("{\"x\":[\"method\",\"" LARGE "\"]", SCAN_TOO_LARGE);
    check_padded("{\"m\\u0065thod\":\"" LARGE "\"", SCAN_TOO_LARGE);
    check_padded("[\"method\",\"" LARGE "\"", SCAN_TOO_LARGE);
}

static bool oneway(const char *text)
{
    struct frame_reader r = reader();
    bool got;

    feed(&r, text, strlen(text) + 1);
    assert_int_equal(next(&r), SCAN_END);
    got = r.scan.oneway;
    frame_fini(&r);
    return got;
}

/* Which limit is named, and whether the large one holds, is the message's own matter: not
 * that of the pieces in which it came. */
static void the_first_limit_counts_in_any_pieces(void **state)
{
    char deep[1200], late[1300];

    (void)state;
    memset(deep, 'x', sizeof(deep));
    memset(deep + 1100, '[', 20);
    (void)snprintf(late, sizeof(late), "{\"parameters\":\"%01100d\",\"method\":\"%s\"}",
                   0, LARGE);
    for (size_t piece = 1; piece < sizeof(late); piece = piece * 3 + 1) {
        assert_int_equal(scan_all(deep, sizeof(deep), piece), SCAN_TOO_LARGE);
        assert_int_equal(scan_all(late, strlen(late) + 1, piece), SCAN_TOO_LARGE);
    }
    assert_int_equal(scan_all(deep, sizeof(deep), sizeof(deep)), SCAN_TOO_LARGE);
    assert_int_equal(scan_all(late, strlen(late) + 1, sizeof(late)), SCAN_TOO_LARGE);
}

static void oneway_is_seen(void **state)
{
    (void)state;
    assert_true(oneway("{\"method\":\"a.B\", \"oneway\" : true}"));
    assert_true(oneway("{\"oneway\":true,\"method\":\"a.B\"}"));
    assert_false(oneway("{\"method\":\"a.B\",\"oneway\":false}"));
    assert_false(oneway("{\"method\":\"a.B\",\"parameters\":{\"oneway\":true}}"));
    assert_false(oneway("{\"oneway\":false,\"more\":true}"));
}

/* Where the list is, in any pieces. */
static void the_list_is_found(const char *text, const char *inside, uint64_t commas)
{
    const size_t len = strlen(text) + 1;

    for (size_t piece = 1; piece <= len; piece++) {
        struct frame_reader r = reader();
        enum scan_result got = SCAN_MORE;

        for (size_t i = 0; i < len && got == SCAN_MORE; i += piece) {
            feed(&r, text + i, len - i < piece ? len - i : piece);
            got = next(&r);
        }
        assert_int_equal(got, SCAN_END);
        if (inside) {
            assert_int_equal(r.scan.list_end - r.scan.list_begin, strlen(inside));
            assert_memory_equal(text + r.scan.list_begin, inside, strlen(inside));
            assert_int_equal(r.scan.list_commas, commas);
        } else {
            assert_int_equal(r.scan.list_end, 0);
        }
        frame_fini(&r);
    }
}

static void lists(void **state)
{
    (void)state;
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\":{\"specs\":[]}}", "", 0);
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\" : {\"a\":[1,2],"
                      "\"specs\" : [ 1, [2,3] ,\"],\"], \"specs\":[4]}}",
                      " 1, [2,3] ,\"],\"", 2);
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\":{\"spec\":[1]}}", NULL,
                      0);
    the_list_is_found("{\"method\":\"" LARGE "\",\"x.y\":{\"specs\":[1]}}", NULL, 0);
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\":[\"specs\",[1]]}", NULL,
                      0);
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\":{\"a\":{\"specs\":[]}}}",
                      NULL, 0);
    the_list_is_found("{\"parameters\":{\"specs\":[1]},\"method\":\"" LARGE "\"}", NULL,
                      0);
    the_list_is_found("{\"method\":\"a.b\",\"parameters\":{\"specs\":[1]}}", NULL, 0);
    the_list_is_found("{\"method\":\"a.b\",\"parameters\":{\"ids\":[1,\"2\"]}}",
                      "1,\"2\"", 1);
    the_list_is_found("{\"parameters\":{\"ids\":[1]},\"method\":\"a.b\"}", "1", 0);
    the_list_is_found("{\"method\":\"a.b\",\"parameters\":{\"filter\":{\"ids\":[1]}}}",
                      NULL, 0);
    the_list_is_found("{\"method\":\"" LARGE "\",\"parameters\":{\"ids\":[1]}}", NULL, 0);
}

/* Where the object is, in any pieces. */
static void object_is_found(unsigned number, const char *text, const char *inside,
                            uint64_t tokens)
{
    const size_t len = strlen(text) + 1;

    for (size_t piece = 1; piece <= len; piece++) {
        struct frame_reader r = reader();
        const struct scan_object *o = &r.scan.objects[number];
        enum scan_result got = SCAN_MORE;

        r.limits.depth = 8;
        for (size_t i = 0; i < len && got == SCAN_MORE; i += piece) {
            feed(&r, text + i, len - i < piece ? len - i : piece);
            got = next(&r);
        }
        assert_int_equal(got, SCAN_END);
        if (inside) {
            assert_int_equal(o->end - o->begin, strlen(inside));
            assert_memory_equal(text + o->begin, inside, strlen(inside));
            assert_int_equal(o->tokens, tokens);
        } else {
            assert_int_equal(o->end, 0);
        }
        frame_fini(&r);
    }
}

static void the_object_is_found(const char *text, const char *inside, uint64_t tokens)
{
    object_is_found(0, text, inside, tokens);
}

#define IN_SPEC(members) "{\"method\":\"a.B\",\"parameters\":{\"spec\":{" members "}}}"

static void objects(void **state)
{
    (void)state;
    the_object_is_found(IN_SPEC("\"env\":{}"), "", 0);
    the_object_is_found(IN_SPEC("\"argv\":[\"env\"], \"env\" : { \"A\":\"}\\\"}\" , "
                                "\"a long name\":\"a long value \\\\\" },\"x\":1"),
                        " \"A\":\"}\\\"}\" , \"a long name\":\"a long value \\\\\" ", 4);
    the_object_is_found(IN_SPEC("\"env\":{\"A\":{\"B\":[{}]}}"), "\"A\":{\"B\":[{}]}", 5);
    the_object_is_found(IN_SPEC("\"env\":{\"A\":1},\"env\":{\"B\":2}"), "\"A\":1", 2);
    the_object_is_found(IN_SPEC("\"env\":null,\"cwd\":{\"env\":{}}"), NULL, 0);
    the_object_is_found(IN_SPEC("\"env\":[{}]"), NULL, 0);
    the_object_is_found(IN_SPEC("\"cwd\":\"env\",\"x\":{}"), NULL, 0);
    the_object_is_found(IN_SPEC("\"\\u0065nv\":{}"), NULL, 0);
    the_object_is_found("{\"parameters\":{\"env\":{}}}", NULL, 0);
    the_object_is_found("{\"parameters\":{\"defaults\":{\"env\":{}}}}", NULL, 0);
    the_object_is_found("{\"parameters\":{\"spec\":[{\"env\":{}}]}}", NULL, 0);
    the_object_is_found("{\"spec\":{\"env\":{}},\"parameters\":{}}", NULL, 0);
    the_object_is_found("{\"x.y\":{\"spec\":{\"env\":{}}}}", NULL, 0);
}

/* Each for itself, whichever comes first. */
static void two_objects(void **state)
{
    const char *const both[] = {
        IN_SPEC("\"env\":{\"A\":1},\"limits\":{\"b\":{\"c\":2}}"),
        IN_SPEC("\"limits\":{\"b\":{\"c\":2}},\"x\":{\"env\":{}},\"env\":{\"A\":1}")};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        object_is_found(0, both[i], "\"A\":1", 2);
        object_is_found(1, both[i], "\"b\":{\"c\":2}", 4);
    }
    object_is_found(1, IN_SPEC("\"env\":{\"limits\":{}}"), NULL, 0);
}

/* What ends a string is seen wherever it is among plain bytes. */
static void long_strings(void **state)
{
    (void)state;
    for (size_t before = 0; before < 20; before++) {
        for (size_t after = 0; after < 20; after++) {
            char text[160], inside[64];

            (void)snprintf(inside, sizeof(inside), "\"A\":\"%.*s\\\"%.*s\"", (int)before,
                           "\x7f\xc3\xa4\x01\xa2\xdc\x80{}[],:!#[]^@ ", (int)after,
                           "}}}}}}}}}}}}}}}}}}}}");
            (void)snprintf(text, sizeof(text),
                           "{\"parameters\":{\"spec\":{\"env\":{%s}}}}", inside);
            the_object_is_found(text, inside, 2);
        }
    }
}

static void memory_goes_back(void **state)
{
    struct frame_reader r = reader();
    char *text = padded("{\"method\":\"" LARGE "\"", 90000);

    (void)state;
    feed(&r, text, 90001);
    expect(&r, text);
    assert_int_equal(r.in.cap, 0);
    free(text);
    frame_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_that_grows_is_not_copied),
        cmocka_unit_test(one_read_many_messages),
        cmocka_unit_test(byte_by_byte),
        cmocka_unit_test(size_at_its_edge),
        cmocka_unit_test(depth_at_its_edge),
        cmocka_unit_test(tokens_at_their_edge),
        cmocka_unit_test(only_the_large_method_may_be_large),
        cmocka_unit_test(the_first_limit_counts_in_any_pieces),
        cmocka_unit_test(oneway_is_seen),
        cmocka_unit_test(lists),
        cmocka_unit_test(objects),
        cmocka_unit_test(two_objects),
        cmocka_unit_test(long_strings),
        cmocka_unit_test(memory_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Text of others on a terminal: what is shown of it, and how wide it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "client/term.h"

#define AE    "\xc3\xa4"         /* a with dots: 2 bytes, 1 column */
#define NICHI "\xe6\x97\xa5"     /* an ideograph: 3 bytes, 2 columns */
#define ACUTE "\xcc\x81"         /* joins the letter before it: 2 bytes, no column */
#define SMILE "\xf0\x9f\x98\x80" /* 4 bytes, 2 columns */
#define CSI   "\xc2\x9b"         /* begins an escape sequence, in one character */
#define RLO   "\xe2\x80\xae"     /* what follows runs to the left */
#define DOTS  "\xe2\x80\xa6"     /* the ellipsis */

static void cleaned(const char *text, size_t size, const char *expect)
{
    char buf[64];
    memset(buf, 'x', sizeof(buf));
    term_clean(text, buf, size);
    assert_string_equal(buf, expect);
    assert_int_equal(buf[size], 'x');
}

static void what_steers_is_replaced(void **state)
{
    (void)state;
    cleaned("", 1, "");
    cleaned("a\033[31mb\n\t\r\x7f", 60, "a?[31mb????");
    cleaned("a" CSI "31m" RLO "b", 60, "a?31m?b");
    cleaned(AE NICHI SMILE "e" ACUTE, 60, AE NICHI SMILE "e" ACUTE);
    /* No UTF-8: a lone start, a lone continuation, a start before something else. */
    cleaned("\xe6\x97", 60, "?");
    cleaned("\x97"
            "a",
            60, "?a");
    cleaned("\xf0"
            "ab",
            60, "?ab");
}

static void long_texts_are_cut_between_characters(void **state)
{
    (void)state;
    cleaned("0123456789abcdef", 17, "0123456789abcdef");
    cleaned("0123456789abcdefg", 17, "0123456789abc" DOTS);
    cleaned(NICHI NICHI NICHI NICHI, 12, NICHI NICHI DOTS);
    cleaned(NICHI NICHI NICHI NICHI, 13, NICHI NICHI NICHI NICHI);
    cleaned("abc", 3, "ab"); /* no room for dots */
    cleaned("abc", 1, "");
}

static void widths(void **state)
{
    (void)state;
    assert_int_equal(term_width(""), 0);
    assert_int_equal(term_width("a" AE NICHI SMILE), 6);
    assert_int_equal(term_width("e" ACUTE), 1);
}

static void bytes(const char *text, size_t len, const char *expect)
{
    /* Whole, and cut in two at each place; of this size exactly, so that a sanitizer sees
     * what is read behind it. */
    char to[256];
    for (size_t cut = 0; cut <= len; cut++) {
        struct term_filter f = {.count = 0};
        char *first = malloc(cut + 1), *second = malloc(len - cut + 1);
        assert_non_null(first);
        assert_non_null(second);
        memcpy(first, text, cut);
        memcpy(second, text + cut, len - cut);
        first = realloc(first, cut ? cut : 1);
        second = realloc(second, len - cut ? len - cut : 1);
        size_t n = term_filter(&f, first, cut, false, to);
        n += term_filter(&f, second, len - cut, true, to + n);
        assert_int_equal(n, strlen(expect));
        assert_memory_equal(to, expect, n);
        free(first);
        free(second);
    }
}

static void output_of_programs(void **state)
{
    (void)state;
    bytes("a\tb\r\n\033[1m\0z" CSI RLO, 16, "a\tb\r\n\\x1b[1m\\x00z\\u009b\\u202e");
    bytes("\xff\xfe" AE, 4, "\\xff\\xfe" AE);
    bytes(NICHI, 2, "\\xe6\\x97"); /* cut in the middle */
    bytes(NICHI, 1, "\\xe6");
    bytes("\xe6" NICHI "\xc0\x9b", 6, "\\xe6" NICHI "\\xc0\\x9b");
    bytes("\xed\xa0\x80", 3, "\\xed\\xa0\\x80");          /* a surrogate */
    bytes("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"); /* beyond the last one */
    bytes("\xf8\x88\x80\x80", 4, "\\xf8\\x88\\x80\\x80"); /* begins no character */
    bytes("\xff\x88\x80\x80", 4, "\\xff\\x88\\x80\\x80");
    bytes("\xc1\xa1", 2, "\\xc1\\xa1"); /* an "a" in two bytes, and in three and four */
    bytes("\xe0\x81\xa1", 3, "\\xe0\\x81\\xa1");
    bytes("\xf0\x80\x81\xa1", 4, "\\xf0\\x80\\x81\\xa1");
    bytes("\xef\xbf\xbd\xef\xbf", 5, "\\ufffd\\xef\\xbf");
    bytes(SMILE "\xf0\x9f\x98x", 8, SMILE "\\xf0\\x9f\\x98x");
}

/* What a reader would not see, and what looks like it. */
static void each_kind_of_character(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"\xc2\xad", "\\u00ad"},
        {"\xcd\x8f", "\\u034f"},
        {"\xd8\x9c", "\\u061c"},
        {"\xe1\x85\x9f", "\\u115f"},
        {"\xe1\x9e\xb4", "\\u17b4"},
        {"\xe1\xa0\x8e", "\\u180e"},
        {"\xe2\x80\x8b", "\\u200b"},
        {"\xe2\x80\x8e", "\\u200e"},
        {"\xe2\x80\x8f", "\\u200f"},
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xe2\x80\xa9", "\\u2029"},
        {"\xe2\x80\xaa", "\\u202a"},
        {"\xe2\x80\xae", "\\u202e"},
        {"\xe2\x81\xa0", "\\u2060"},
        {"\xe2\x81\xa4", "\\u2064"},
        {"\xe2\x81\xa6", "\\u2066"},
        {"\xe2\x81\xa9", "\\u2069"},
        {"\xe3\x85\xa4", "\\u3164"},
        {"\xef\xb7\x90", "\\ufdd0"},
        {"\xef\xbb\xbf", "\\ufeff"},
        {"\xef\xbe\xa0", "\\uffa0"},
        {"\xef\xbf\xb9", "\\ufff9"},
        {"\xef\xbf\xbf", "\\uffff"},
        {"\xf0\x9b\xb2\xa0", "\\U0001bca0"},
        {"\xf0\x9d\x85\xb3", "\\U0001d173"},
        {"\xf3\xa0\x80\x81", "\\U000e0001"}, /* tags */
        {"\xf3\xa0\x81\x81", "\\U000e0041"},
        {"\xf3\xa0\x81\xbf", "\\U000e007f"},
        {"\xf3\xa0\x84\x80", "\\U000e0100"},
        {"\xf4\x8f\xbf\xbf", "\\U0010ffff"},
        /* needed: joiners, emoji, what combines, a space that does not break */
        {"\xe2\x80\x8c", NULL},
        {"\xe2\x80\x8d", NULL},
        {"\xef\xb8\x8f", NULL},
        {ACUTE, NULL},
        {"\xc2\xa0", NULL},
        {"\xe2\x80\x90", NULL},
        {"\xe2\x80\xaf", NULL},
        {"\xf0\x9f\x87\xa9", NULL},
        {"\xee\x80\x80", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = rows[i].text;
        bytes(text, strlen(text), rows[i].shown ? rows[i].shown : text);
        cleaned(text, 60, rows[i].shown ? "?" : text);
    }
}

/* It stays before a line end: elsewhere it would let text overwrite what was there. */
static void carriage_returns(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"a\r\nb\r\n", "a\r\nb\r\n"},
        {"rm -rf /\rls      ", "rm -rf /^Mls      "},
        {"10%\r20%\r100%\n", "10%^M20%^M100%\n"},
        {"a\r\r\n", "a^M\r\n"},
        {"a\r" AE, "a^M" AE},
        {"a\r\033[K", "a^M\\x1b[K"},
        {"\r", "^M"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        bytes(rows[i].text, strlen(rows[i].text), rows[i].shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_steers_is_replaced),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(widths),
        cmocka_unit_test(output_of_programs),
        cmocka_unit_test(each_kind_of_character),
        cmocka_unit_test(carriage_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

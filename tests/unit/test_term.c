/* Text of others on a terminal: what is shown of it, and how wide it is. */
#include <locale.h>
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
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(term_width(""), 0);
    assert_int_equal(term_width("a" AE NICHI SMILE), 6);
    assert_int_equal(term_width("e" ACUTE), 1);
}

static void bytes(const char *text, size_t len, const char *expect)
{
    /* Of this size exactly, so that a sanitizer sees what is read behind it. */
    char *data = malloc(len);
    assert_non_null(data);
    memcpy(data, text, len);
    assert_int_equal(term_clean_bytes(data, len), strlen(expect));
    assert_memory_equal(data, expect, strlen(expect));
    free(data);
}

static void output_of_programs(void **state)
{
    (void)state;
    bytes("a\tb\r\n\033[1m\0z" CSI RLO, 16, "a\tb\r\n?[1m?z??");
    bytes("\xff\xfe" AE, 4, "??" AE);
    bytes(NICHI, 2, "?"); /* cut in the middle */
    bytes(NICHI, 1, "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_steers_is_replaced),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(widths),
        cmocka_unit_test(output_of_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

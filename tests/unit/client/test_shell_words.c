/* Words as they are typed into a shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client/shell_words.h"

#define RLO "\xe2\x80\xae" /* what follows runs to the left */

static void becomes(const char *word, const char *expect)
{
    struct wire_buf to = {0};

    assert_int_equal(wire_buf_append(&to, "x ", 2), 0);
    assert_int_equal(shell_word(&to, word), 0);
    assert_int_equal(wire_buf_append(&to, "", 1), 0);
    assert_string_equal(wire_buf_at(&to) + 2, expect);
    wire_buf_fini(&to);
}

static void plain_words_stay(void **state)
{
    (void)state;
    becomes("true", "true");
    becomes("in/{i}.gz", "in/{i}.gz");
    becomes("--a=b:c,d@e%f+g^", "--a=b:c,d@e%f+g^");
}

static void others_are_quoted(void **state)
{
    (void)state;
    becomes("", "''");
    becomes("a b", "'a b'");
    becomes("it's", "'it'\\''s'");
    becomes("'", "''\\'''");
    becomes("$HOME", "'$HOME'");
    becomes("~", "'~'");
    becomes("{", "'{'");
    becomes("{a,b}", "'{a,b}'");
    becomes("{1..3}", "'{1..3}'");
    becomes("\xc3\xa4", "'\xc3\xa4'");
}

static void what_cannot_be_shown_is_escaped(void **state)
{
    (void)state;
    becomes("a\tb\nc", "$'a\\tb\\nc'");
    becomes("\033"
            "1'\\",
            "$'\\0331\\'\\\\'");
    becomes("\xc3\xa4" RLO "2", "$'\xc3\xa4\\342\\200\\2562'");
    becomes("\xff", "$'\\377'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_stay),
        cmocka_unit_test(others_are_quoted),
        cmocka_unit_test(what_cannot_be_shown_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

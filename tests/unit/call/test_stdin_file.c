/* Places for descriptors that come with calls: so many of a user, so many of all. What is
 * read from them: tests/integration/test_stdin_fd.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/call/stdin_file.h"

static void a_user_has_so_many(void **state)
{
    struct stdin_files *f = stdin_files_new();
    struct stdin_file mine[STDIN_FILES_OF_USER] = {0}, more = {0}, other = {0};

    (void)state;
    for (int i = 0; i < STDIN_FILES_OF_USER; i++)
        assert_true(stdin_file_claim(&mine[i], f, 1));
    assert_false(stdin_file_claim(&mine[0], f, 1)); /* it has one */
    assert_false(stdin_file_claim(&more, f, 1));
    assert_true(stdin_file_claim(&other, f, 2));
    stdin_file_end(&mine[3]);
    stdin_file_end(&mine[3]); /* nothing is there any more */
    assert_true(stdin_file_claim(&more, f, 1));
    assert_false(stdin_file_claim(&mine[3], f, 1));
    stdin_file_end(&more);
    stdin_file_end(&other);
    for (int i = 0; i < STDIN_FILES_OF_USER; i++)
        stdin_file_end(&mine[i]);
    stdin_files_free(f);
}

static void all_have_so_many(void **state)
{
    struct stdin_files *f = stdin_files_new();
    struct stdin_file all[STDIN_FILES] = {0}, more = {0};

    (void)state;
    for (int i = 0; i < STDIN_FILES; i++)
        assert_true(stdin_file_claim(&all[i], f, (uid_t)i));
    assert_false(stdin_file_claim(&more, f, STDIN_FILES));
    stdin_file_end(&all[7]);
    assert_true(stdin_file_claim(&more, f, STDIN_FILES));
    stdin_file_end(&more);
    for (int i = 0; i < STDIN_FILES; i++)
        stdin_file_end(&all[i]);
    stdin_files_free(f);
}

static void without_places_none_is_taken(void **state)
{
    struct stdin_file x = {0};

    (void)state;
    assert_false(stdin_file_claim(&x, NULL, 1));
    stdin_file_end(&x);
    stdin_files_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_has_so_many),
        cmocka_unit_test(all_have_so_many),
        cmocka_unit_test(without_places_none_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

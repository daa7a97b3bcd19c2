/* A store that gets no memory for a moment: what was rolled back for it is written anew, and
 * nothing is taken for damage. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <unistd.h>

#include "tests/support/stored.h"

static unsigned until_failure; /* calls; 0: none fails */

void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);

/* Linked in the place of reallocarray(). */
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
    if (until_failure > 0 && --until_failure == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_reallocarray(old, n, size);
}

/* Each array in turn that a new store has for its first job. */
static void no_memory_for_a_moment(void **state)
{
    char env[32], path[PATH_MAX];
    unsigned n = 0;
    bool failed = true;

    (void)state;
    stored_path("jobs.2.db", path);
    while (failed) {
        struct store *s = stored_fresh();

        (void)snprintf(env, sizeof(env), "N=%u", ++n); /* a content that is new */
        until_failure = n;
        int r = stored_submit(s, 2 * n, "first", env);
        assert_true(r == 0 || r == -ENOMEM);
        failed = until_failure == 0;
        until_failure = 0;
        assert_int_equal(stored_submit(s, 2 * n + 1, "second", env), 0);
        store_free(s);
        assert_int_equal(access(path, F_OK), -1); /* no copy was made of it */
    }
    assert_true(n > 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_memory_for_a_moment),
    };

    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}

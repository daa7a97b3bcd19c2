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

#include "base/atomic.h"
#include "daemon/store/contents.h"
#include "tests/support/stored.h"

static unsigned until_failure; /* calls; 0: none fails */
static vat_u32 failures;       /* so many slots of contents are not to be had */

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

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* Linked in the place of calloc(). */
void *__wrap_calloc(size_t n, size_t size)
{
    if (n == 1 && size == sizeof(struct contents_slot) &&
        vat_u32_load(&failures, VAT_RLX) > 0) {
        (void)vat_u32_sub(&failures, 1, VAT_RLX);
        errno = ENOMEM;
        return NULL;
    }
    return __real_calloc(n, size);
}

/* A transaction that had deleted a content is taken back, while there is no memory: later
 * it is deleted all the same, and kept anew for another job. */
static void no_memory_to_take_back(void **state)
{
    struct store *s = stored_fresh();

    (void)state;
    assert_int_equal(stored_submit(s, 1, "first", "N=1"), 0);
    assert_int_equal(stored_starting(s, 1), 0);
    assert_int_equal(stored_end(s, 1, 0), 0);
    vat_u32_store(&failures, 2, VAT_RLX); /* the new one, and the one that was deleted */
    assert_int_equal(stored_replace(s, 1, 2, "second", "N=2"), 0);
    vat_u32_store(&failures, 0, VAT_RLX);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), 1);
    assert_int_equal(stored_submit(s, 3, "first", "N=1"), 0);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), 2);
    store_free(s);
    s = stored_fresh(); /* its sums are those of the rows */
    store_free(s);
}

/* Each array in turn that a new store has for its first job. */
static void no_memory_for_a_moment(void **state)
{
    char env[32];
    unsigned n = 0;
    bool failed = true;

    (void)state;
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
    }
    assert_true(n > 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(no_memory_for_a_moment),
        T(no_memory_to_take_back),
    };

    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}

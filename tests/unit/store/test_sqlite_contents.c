/* Contents of a store that would have one id: each job has its own all the same. The linker
 * redirects contents_hash() (Makefile). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/contents.h"
#include "tests/support/stored.h"

int64_t __wrap_contents_hash(uint64_t seed, const void *bytes, size_t n);
int64_t __wrap_contents_hash(uint64_t seed, const void *bytes, size_t n)
{
    (void)seed;
    (void)bytes;
    (void)n;
    return INT64_MAX; /* the next one is 1 */
}

static void equal_ids_are_not_taken_for_equal_bytes(void **state)
{
    static const char *const env[] = {"E=1", "E=2", "E=1", "E=3", "E=2", "E=33"};
    const char expected[] = "1:submit:x:E=1 2:submit:x:E=2 3:submit:x:E=1 "
                            "4:submit:x:E=3 5:submit:x:E=2 6:submit:x:E=33 ";
    struct store *s = stored_fresh();
    struct volt_error err = {{0}};
    struct found found;

    (void)state;
    for (uint64_t id = 1; id <= 6; id++) {
        assert_int_equal(stored_submit(s, id, "x", env[id - 1]), 0);
        if (id % 2 == 0) { /* also by one that found them there */
            store_free(s);
            s = stored_fresh();
        }
    }
    store_free(s);
    assert_int_equal(stored_query("SELECT count(*) FROM content"), 4);
    assert_int_equal(stored_reload(1, &found, &err), 0);
    assert_string_equal(found.text, expected);
}

#define T(f) cmocka_unit_test_setup_teardown(f, stored_setup, stored_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(equal_ids_are_not_taken_for_equal_bytes),
    };
    return cmocka_run_group_tests(tests, stored_start, stored_stop);
}

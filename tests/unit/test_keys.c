/* The map of idempotency keys: what is put is found, what is removed is not, whatever
 * collides; users do not meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/keys.h"

static void put_find_remove(void **state)
{
    struct keys k = {.seed = 42};

    (void)state;
    assert_null(keys_find(&k, 7));
    keys_remove(&k, 7);
    for (uint64_t i = 1; i <= 1000; i++) {
        struct keys_entry *e = keys_put(&k, i << 7 | 1); /* crowded places */

        assert_non_null(e);
        e->id = i;
    }
    for (uint64_t i = 1; i <= 1000; i += 2)
        keys_remove(&k, i << 7 | 1);
    assert_int_equal(k.n, 500);
    for (uint64_t i = 1; i <= 1000; i++) {
        const struct keys_entry *e = keys_find(&k, i << 7 | 1);

        assert_int_equal(e != NULL, i % 2 == 0);
        assert_true(!e || e->id == i);
    }
    keys_fini(&k);
}

static void colliding_places(void **state)
{
    struct keys k = {.seed = 1};

    (void)state;
    for (uint64_t i = 1; i <= 40; i++)
        assert_non_null(
            keys_put(&k, i | UINT64_C(63) << 7)); /* all at the end: it wraps */
    for (uint64_t i = 1; i <= 40; i += 3)
        keys_remove(&k, i | UINT64_C(63) << 7);
    for (uint64_t i = 1; i <= 40; i++)
        assert_int_equal(keys_find(&k, i | UINT64_C(63) << 7) != NULL, i % 3 != 1);
    keys_fini(&k);
}

static void hashes(void **state)
{
    struct keys k = {.seed = 42}, l = {.seed = 43};
    struct job_spec *a = job_spec_new(), *b = job_spec_new();
    uint64_t x, y;

    (void)state;
    assert_true(keys_hash(&k, 1, "a") == keys_hash(&k, 1, "a"));
    assert_true(keys_hash(&k, 1, "a") != keys_hash(&k, 2, "a"));
    assert_true(keys_hash(&k, 1, "a") != keys_hash(&k, 1, "b"));
    assert_true(keys_hash(&k, 1, "a") != keys_hash(&l, 1, "a"));
    a->kind = b->kind = JOB_KIND_NOOP;
    assert_int_equal(keys_hash_body(42, a, &x), 0);
    assert_int_equal(keys_hash_body(42, b, &y), 0);
    assert_true(x == y);
    b->on_exists = JOB_ON_EXISTS_REPLACE; /* are of one submission only */
    b->replaces = 7;
    assert_int_equal(keys_hash_body(42, b, &y), 0);
    assert_true(x == y);
    b->priority = 1;
    assert_int_equal(keys_hash_body(42, b, &y), 0);
    assert_true(x != y);
    job_spec_unref(a);
    job_spec_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_find_remove),
        cmocka_unit_test(colliding_places),
        cmocka_unit_test(hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

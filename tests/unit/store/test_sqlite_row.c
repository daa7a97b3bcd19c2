/* The rows of the SQLite store: a body says for which table and key it is, and the sum of a
 * table tells any two sets of rows apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/sqlite_row.h"

#define OTHERS 5

static const struct row_key own = {.table = ROW_EVENT, .a = 1, .b = 2, .c = 3};
/* Each differs in one thing. */
static const struct row_key others[OTHERS] = {
    {.table = ROW_OUTPUT, .a = 1, .b = 2, .c = 3},
    {.table = ROW_EVENT, .a = 9, .b = 2, .c = 3},
    {.table = ROW_EVENT, .a = 1, .b = 9, .c = 3},
    {.table = ROW_EVENT, .a = 1, .b = 2, .c = 9},
    {.table = ROW_EVENT, .a = 1, .b = 2, .c = -3},
};

static struct pack sealed(const char *text, const struct row_key *key)
{
    struct pack p = {0};

    pack_raw(&p, text, strlen(text));
    row_seal(&p, 0, key);
    assert_false(p.failed);
    return p;
}

static void a_body_speaks_for_no_other_row(void **state)
{
    struct pack p = sealed("body", &own);
    size_t payload = 0;

    (void)state;
    assert_true(row_open(p.bytes, p.n, &own, &payload));
    assert_int_equal(payload, strlen("body"));
    for (size_t i = 0; i < OTHERS; i++)
        assert_false(row_open(p.bytes, p.n, &others[i], &payload));
    for (size_t n = 0; n < p.n; n++)
        assert_false(row_open(p.bytes, n, &own, &payload));
    for (size_t i = 0; i < p.n; i++) {
        p.bytes[i] ^= 1;
        assert_false(row_open(p.bytes, p.n, &own, &payload));
        p.bytes[i] ^= 1;
    }
    pack_fini(&p);
}

static void a_sum_is_of_bodies_and_keys(void **state)
{
    struct pack p = sealed("body", &own), old = sealed("bodx", &own);
    const uint64_t digest = row_digest(p.bytes, p.n, &own);
    struct row_sum s = {0};

    (void)state;
    assert_int_not_equal(row_digest(old.bytes, old.n, &own), digest);
    for (size_t i = 0; i < OTHERS; i++) {
        assert_int_not_equal(row_digest(p.bytes, p.n, &others[i]), digest);
        assert_int_not_equal(row_digest(NULL, 0, &others[i]), row_digest(NULL, 0, &own));
    }
    row_sum_add(&s, digest);
    row_sum_add(&s, digest);
    row_sum_remove(&s, digest);
    assert_true(s.rows == 1 && s.sum == digest);
    pack_fini(&p);
    pack_fini(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_speaks_for_no_other_row),
        cmocka_unit_test(a_sum_is_of_bodies_and_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

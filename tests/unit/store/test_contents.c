/* Which contents the store has: what is added is found, what is removed is not; nobody
 * can choose contents whose ids meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/store/contents.h"

static void add_find_remove(void **state)
{
    struct contents c = {.table = {0}};

    (void)state;
    assert_null(contents_find(&c, 7));
    contents_remove(&c, 7);
    for (int64_t i = 1; i <= 1000; i++) {
        struct contents_slot *slot = contents_add(&c, i << 6 | 63); /* crowded places */

        assert_non_null(slot);
        slot->uses = (uint64_t)i;
    }
    for (int64_t i = 1; i <= 1000; i += 2)
        contents_remove(&c, i << 6 | 63);
    assert_int_equal(c.table.count, 500);
    for (int64_t i = 1; i <= 1000; i++) {
        const struct contents_slot *slot = contents_find(&c, i << 6 | 63);

        assert_int_equal(slot != NULL, i % 2 == 0);
        assert_true(!slot || slot->uses == (uint64_t)i);
    }
    contents_fini(&c);
}

/* Pairs of words whose differences cancel out in a hash that multiplies and shifts word by
 * word, under every seed: the highest bit of the first, and in the second the bits where
 * that one ends up. Each pair may be the one or the other: 4096 contents of one hash. */
static void chosen_contents_have_ids_of_their_own(void **state)
{
    enum { PAIRS = 12 };
    struct contents c = {.table = {0}};
    uint64_t words[2 * PAIRS];

    (void)state;
    for (unsigned choice = 0; choice < 1U << PAIRS; choice++) {
        for (unsigned i = 0; i < PAIRS; i++) {
            uint64_t other = choice >> i & 1;

            words[2 * i] = UINT64_C(0x3d41414141414141) ^ other << 63;
            words[2 * i + 1] = UINT64_C(0x4242424242424242) ^ other << 63 ^ other << 31;
        }
        int64_t id = contents_hash(42, words, sizeof(words));
        assert_true(id > 0);
        assert_null(contents_find(&c, id));
        assert_non_null(contents_add(&c, id));
    }
    contents_fini(&c);
}

static void the_id_is_of_bytes_length_and_seed(void **state)
{
    static const char zeroes[9];

    (void)state;
    assert_true(contents_hash(1, "a", 1) == contents_hash(1, "a", 1));
    assert_true(contents_hash(1, "a", 1) != contents_hash(2, "a", 1));
    assert_true(contents_hash(1, "a", 1) != contents_hash(1, "b", 1));
    assert_true(contents_hash(1, zeroes, 8) != contents_hash(1, zeroes, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_find_remove),
        cmocka_unit_test(chosen_contents_have_ids_of_their_own),
        cmocka_unit_test(the_id_is_of_bytes_length_and_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The hash table: what is added is found, what is removed is not, whatever collides and
 * however the vectors change meanwhile; no operation moves much; without memory it goes
 * on with what it has. */
#include "tests/support/alloc_hook.h"

#include "base/hash_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct thing {
    struct hash_node node;
    uint64_t name;
    bool in;
};

#define thing_of(n) ((struct thing *)(void *)(n))

static uint32_t chance(void)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static struct thing *find(const struct hash_table *t, uint64_t hash, uint64_t name)
{
    struct hash_node *n = hash_table_first(t, hash);

    while (n && thing_of(n)->name != name)
        n = hash_node_next(n);
    return n ? thing_of(n) : NULL;
}

static void check_all(const struct hash_table *t, struct thing *things, size_t n,
                      uint64_t (*hash)(uint64_t name))
{
    struct hash_cursor c = {0};
    size_t in = 0, seen = 0;

    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(find(t, hash(i), i), things[i].in ? &things[i] : NULL);
        in += things[i].in;
    }
    for (struct hash_node *x; (x = hash_table_each(t, &c)); seen++)
        assert_true(thing_of(x)->in);
    assert_int_equal(in, seen);
    assert_int_equal(in, t->count);
}

static uint64_t spread(uint64_t name)
{
    return name * 0x10001;
}

static uint64_t crowded(uint64_t name)
{
    return name % 5 << 20; /* five hashes, one bucket as long as there are few */
}

enum { MANY = 5000 };

/* Adds and removes at random, first more of the one, then more of the other: the vectors
 * grow, shrink, and are asked in the middle of both. */
static void at_random(uint64_t (*hash)(uint64_t), size_t n, unsigned rounds)
{
    struct thing *things = calloc(n, sizeof(*things));
    struct hash_table t = {0};
    size_t largest = 0;

    assert_non_null(things);
    assert_null(hash_table_first(&t, 1));
    assert_int_equal(hash_table_reserve(&t), 0);
    for (unsigned round = 0; round < rounds; round++) {
        bool more = (round / 20) % 2 == 0;

        for (size_t k = 0; k < n / 10; k++) {
            size_t i = chance() % n;

            if (!things[i].in && (more || chance() % 8 == 0)) {
                things[i].name = i;
                hash_table_add(&t, &things[i].node, hash(i));
                things[i].in = true;
            } else if (things[i].in && (!more || chance() % 8 == 0)) {
                hash_table_remove(&t, &things[i].node);
                things[i].in = false;
            }
        }
        largest = t.size > largest ? t.size : largest;
        check_all(&t, things, n, hash);
    }
    assert_true(largest >= n / 2);
    for (size_t i = 0; i < n; i++)
        if (things[i].in)
            hash_table_remove(&t, &things[i].node);
    assert_int_equal(t.count, 0);
    assert_true(t.size < largest);
    hash_table_fini(&t);
    free(things);
}

static void it_finds_what_is_in_it(void **state)
{
    (void)state;
    at_random(spread, MANY, 80);
}

static void whatever_collides(void **state)
{
    (void)state;
    at_random(crowded, 400, 80);
}

/* The old buckets that one add or remove empties. */
static void no_operation_moves_much(void **state)
{
    static struct thing things[MANY];
    struct hash_table t = {0};
    size_t before, old_size, resizes = 0;

    (void)state;
    assert_int_equal(hash_table_reserve(&t), 0);
    hook_arm(0, false);
    for (unsigned way = 0; way < 2; way++) {
        for (size_t i = 0; i < MANY; i++) {
            bool moving = t.old != NULL;

            before = t.moved;
            old_size = t.old_size;
            if (way == 0)
                hash_table_add(&t, &things[i].node, i);
            else
                hash_table_remove(&t, &things[i].node);
            resizes += !moving && t.old;
            if (moving && t.old)
                assert_int_equal(t.moved - before, HASH_TABLE_MOVES);
            else if (moving)
                assert_true(before + HASH_TABLE_MOVES >= old_size);
            assert_true(hash_table_longest(&t) <= 2); /* of consecutive numbers */
        }
    }
    assert_true(resizes >= 8);
    assert_int_equal(hook_count(), resizes); /* nodes cost nothing */
    hash_table_fini(&t);
}

static void each_allocation_fails(void **state)
{
    static struct thing things[MANY];
    struct hash_table t = {0};
    uint64_t live = vat_u64_load(&hook_live, VAT_RLX);

    (void)state;
    hook_arm(1, true);
    assert_int_equal(hash_table_reserve(&t), -ENOMEM);
    for (uint64_t n = 1; n <= 6; n++) {
        hook_arm(0, false);
        assert_int_equal(hash_table_reserve(&t), 0);
        hook_arm(n,
                 true); /* it stops growing, and later shrinking, at any of its sizes */
        memset(things, 0, sizeof(things));
        for (size_t i = 0; i < MANY; i++) {
            things[i].name = i;
            hash_table_add(&t, &things[i].node, spread(i));
            things[i].in = true;
        }
        assert_int_equal(t.size + t.old_size, UINT64_C(64) << (n - 1));
        check_all(&t, things, MANY, spread);
        for (size_t i = 0; i < MANY; i += 1 + i % 2) {
            hash_table_remove(&t, &things[i].node);
            things[i].in = false;
        }
        check_all(&t, things, MANY, spread);
        hook_arm(0, false); /* there is memory again */
        for (size_t i = 0; i < MANY; i++) {
            if (!things[i].in)
                hash_table_add(&t, &things[i].node, spread(i));
            things[i].in = true;
        }
        assert_true(t.size >= MANY / 8);
        check_all(&t, things, MANY, spread);
        hash_table_fini(&t);
    }
    assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_is_in_it),
        cmocka_unit_test(whatever_collides),
        cmocka_unit_test(no_operation_moves_much),
        cmocka_unit_test(each_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

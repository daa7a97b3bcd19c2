/* Sets of ids: a random history against a plain array of flags, with ids in runs and far
 * apart, asked from every place in both directions; and the same without memory every now
 * and then. What a set of many consecutive ids occupies. */
#include "tests/support/alloc_hook.h"

#include "daemon/core/idset.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { IDS = 5 * 4096, STEPS = 400 };

static bool in[IDS];
static uint64_t count;

static uint32_t chance(uint32_t n)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x % n;
}

/* Small ids and very large ones: the places of `in` lie apart. */
static uint64_t id_of(uint32_t place, uint64_t apart)
{
    return 1 + place / 4096 * apart + place;
}

static void check(const struct idset *s, uint64_t apart)
{
    uint64_t before = 0, next = idset_next(s, 0);

    for (uint32_t i = 0; i < IDS; i++) {
        const uint64_t id = id_of(i, apart);

        assert_int_equal(idset_prev(s, id), before);
        if (in[i]) {
            assert_int_equal(next, id);
            next = idset_next(s, id);
            before = id;
        } else {
            assert_int_equal(idset_next(s, id), next);
        }
    }
    assert_int_equal(next, 0);
    assert_int_equal(idset_prev(s, UINT64_MAX), before);
    assert_int_equal(idset_next(s, UINT64_MAX), 0);
    assert_int_equal(idset_prev(s, 0), 0);
    assert_int_equal(s->count, count);
}

static void add(struct idset *s, uint32_t i, uint64_t apart, bool fails)
{
    if (fails)
        hook_arm(1, true);
    const int r = idset_add(s, id_of(i, apart));
    hook_arm(0, false);

    assert_true(r == 0 || (fails && !in[i]));
    count += r == 0 && !in[i];
    in[i] |= r == 0;
}

/* Also without memory: only adding may need some. */
static void take(struct idset *s, uint32_t i, uint64_t apart, bool fails)
{
    if (fails)
        hook_arm(1, true);
    idset_remove(s, id_of(i, apart));
    hook_arm(0, false);
    count -= in[i];
    in[i] = false;
}

/* One step: a run of ids, or some here and there, come or go. */
static void step(struct idset *s, uint64_t apart, bool more, bool fails)
{
    const uint32_t n = 1 + chance(chance(8) ? 40 : 3000), from = chance(IDS);
    const bool run = chance(2);

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = run ? (from + i) % IDS : chance(IDS);
        const bool fail = fails && chance(3) == 0;

        if (chance(8) == 0 ? !more : more)
            add(s, at, apart, fail);
        else
            take(s, at, apart, fail);
    }
}

static void a_random_history(uint64_t apart, bool fails)
{
    struct idset s = {0};

    memset(in, 0, sizeof(in));
    count = 0;
    check(&s, apart);
    for (int i = 0; i < STEPS; i++) {
        step(&s, apart, i / 40 % 2 == 0, fails);
        if (i % 10 == 9)
            check(&s, apart);
    }
    for (uint32_t i = 0; i < IDS; i++)
        take(&s, i, apart, false);
    check(&s, apart);
    idset_fini(&s);
    assert_null(s.chunks);
}

static void as_an_array_of_flags(void **state)
{
    (void)state;
    a_random_history(0, false);
    a_random_history(UINT64_C(1) << 59, false);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    const uint64_t live = vat_u64_load(&hook_live, VAT_RLX);
    a_random_history(0, true);
    assert_int_equal(vat_u64_load(&hook_live, VAT_RLX), live); /* and nothing is left */
}

/* Around the sizes at which a form changes nothing is allocated for each id. */
static void a_size_that_goes_up_and_down(void **state)
{
    struct idset s = {0};

    (void)state;
    for (uint32_t n = 1; n < 700; n++) {
        assert_int_equal(idset_add(&s, n), 0);
        hook_arm(0, false);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(idset_add(&s, n + 1), 0);
            idset_remove(&s, n + 1);
        }
        assert_true(hook_count() <= 1);
    }
    idset_fini(&s);
}

static void many_consecutive_ids_are_a_bit_each(void **state)
{
    enum { MANY = 1000000 };
    struct idset s = {0};
    const size_t before = mallinfo2().uordblks;

    (void)state;
    for (uint64_t id = 1; id <= MANY; id++)
        assert_int_equal(idset_add(&s, id), 0);
    const size_t bytes = mallinfo2().uordblks - before;
    (void)printf("%d consecutive ids: %zu bytes\n", MANY, bytes);
    assert_true(bytes < MANY / 4);
    idset_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_an_array_of_flags),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(a_size_that_goes_up_and_down),
        cmocka_unit_test(many_consecutive_ids_are_a_bit_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

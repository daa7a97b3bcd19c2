/* Victim selection: S-2 shifts and zero state, S-3 seeds, S-4 range. */
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void s2_the_sequence_is_that_of_the_shifts_17_7_16(void **state)
{
    struct rng r = {1, 2};
    uint32_t one = 1, two = 2;

    (void)state;
    for (int i = 0; i < 100; i++) {
        uint32_t s1 = one ^ one << 17;

        s1 = s1 ^ two ^ s1 >> 7 ^ two >> 16;
        assert_int_equal(rng_next(&r), two + s1);
        one = two;
        two = s1;
    }
    r = (struct rng){1, 2};
    assert_int_equal(rng_next(&r),
                     0x20403 + 2); /* by hand: 0x20001 ^ 2 ^ 0x400 = 0x20403 */
}

static void s2_no_zero_state(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, 0, 0);
    assert_true(r.one || r.two);
    rng_init(&r, 0 - 3 * RNG_GOLDEN, 3);
    assert_true(r.one || r.two);
}

static void s3_indices_differ_and_seeds_repeat(void **state)
{
    struct rng a, b, c;

    (void)state;
    rng_init(&a, 7, 0);
    rng_init(&b, 7, 1);
    rng_init(&c, 7, 1);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        uint32_t y = rng_next(&b);

        same += rng_next(&a) == y;
        assert_int_equal(rng_next(&c), y);
    }
    assert_true(same < 3);
}

static void s4_below_n_and_all_of_them(void **state)
{
    struct rng r;
    unsigned hit[7] = {0};

    (void)state;
    rng_init(&r, 99, 0);
    for (int i = 0; i < 7000; i++) {
        uint32_t v = rng_below(&r, 7);

        assert_in_range(v, 0, 6);
        hit[v]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(hit[i], 800, 1200);
    assert_int_equal(rng_below(&r, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s2_the_sequence_is_that_of_the_shifts_17_7_16),
        cmocka_unit_test(s2_no_zero_state),
        cmocka_unit_test(s3_indices_differ_and_seeds_repeat),
        cmocka_unit_test(s4_below_n_and_all_of_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

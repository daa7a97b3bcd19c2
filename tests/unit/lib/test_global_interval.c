/* The adaptive interval: table G-6, outliers G-8, weight of a segment F-A5. */
#include "sched/global_interval.h"

#include <volt/runtime.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void g5_initial_values(void **state)
{
    struct global_interval v;

    (void)state;
    global_interval_init(&v);
    assert_int_equal(v.polls, 20);
    assert_int_equal((int)v.avg_ns, 50000);
}

static void g6_table(void **state)
{
    static const struct {
        uint64_t ns;
        uint32_t polls;
    } row[] = {
        {1, 255},     {1000, 255}, {10000, 100}, {50000, 20},
        {100000, 10}, {125000, 8}, {1000000, 8}, {1000000000, 8},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct global_interval v;

        global_interval_init(&v);
        for (int k = 0; k < 50; k++)
            global_interval_update(&v, 128, 128 * row[i].ns);
        assert_in_range(v.polls, row[i].polls - (row[i].polls > 8), row[i].polls);
    }
}

static void g4_one_poll_weighs_a_tenth(void **state)
{
    struct global_interval v;

    (void)state;
    global_interval_init(&v);
    global_interval_update(&v, 1, 150000);
    assert_in_range((int)v.avg_ns, 59999, 60001);
    global_interval_update(&v, 0, 12345678); /* nothing ran */
    assert_in_range((int)v.avg_ns, 59999, 60001);
}

static void g8_an_outlier_moves_little_and_20_samples_converge(void **state)
{
    struct global_interval v;

    (void)state;
    global_interval_init(&v);
    global_interval_update(&v, 1, 500000); /* ten times as long */
    assert_in_range(v.polls, 10, 12);
    for (int k = 0; k < 20; k++)
        global_interval_update(&v, 1, 50000);
    assert_in_range(v.polls, 17, 20);
}

static void f_a5_a_segment_weighs_as_its_polls(void **state)
{
    struct global_interval one, many;

    (void)state;
    global_interval_init(&one);
    global_interval_init(&many);
    for (int k = 0; k < 128; k++)
        global_interval_update(&one, 1, 2000);
    global_interval_update(&many, 128, 128 * 2000);
    assert_in_range((int)many.avg_ns, (int)one.avg_ns - 1, (int)one.avg_ns + 1);
}

static void the_average_is_at_least_one(void **state)
{
    struct global_interval v;

    (void)state;
    global_interval_init(&v);
    for (int k = 0; k < 100; k++)
        global_interval_update(&v, 128, 0);
    assert_int_equal((int)v.avg_ns, 1);
    assert_int_equal(v.polls, 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(g5_initial_values),
        cmocka_unit_test(g6_table),
        cmocka_unit_test(g4_one_poll_weighs_a_tenth),
        cmocka_unit_test(g8_an_outlier_moves_little_and_20_samples_converge),
        cmocka_unit_test(f_a5_a_segment_weighs_as_its_polls),
        cmocka_unit_test(the_average_is_at_least_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

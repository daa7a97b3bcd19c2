/* Tables for people: which columns a terminal has room for, and how wide they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client/voltctl/table.h"

static const struct table_column id = {"ID", .rank = 0},
                                 name = {"NAME", .flexible = true, .rank = 2},
                                 state = {"STATE", .rank = 1},
                                 time_ = {"TIME", .rank = 3},
                                 command = {"COMMAND", .flexible = true};
static const struct table_column *const columns[] = {&id, &name, &state, &time_,
                                                     &command};

/* Natural widths of 4, 30, 7, 8 and 50 become these. */
static void fits(unsigned width, const size_t expect[static 5])
{
    size_t widths[] = {4, 30, 7, 8, 50}, sum = 0, shown = 0;

    table_fit(columns, 5, width, widths);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(widths[i], expect[i]);
        sum += widths[i];
        shown += widths[i] > 0;
    }
    assert_true(sum + 2 * (shown - 1) <= width);
}

static void flexible_columns_are_cut_the_widest_first(void **state_)
{
    (void)state_;
    fits(107, (size_t[]){4, 30, 7, 8, 50});
    fits(106, (size_t[]){4, 30, 7, 8, 49});
    fits(87, (size_t[]){4, 30, 7, 8, 30});
    fits(85, (size_t[]){4, 29, 7, 8, 29});
    fits(43, (size_t[]){4, 8, 7, 8, 8});
}

static void columns_are_left_out_by_rank(void **state_)
{
    (void)state_;
    fits(42, (size_t[]){4, 12, 7, 0, 13});
    fits(33, (size_t[]){4, 8, 7, 0, 8});
    fits(32, (size_t[]){4, 0, 7, 0, 17});
    fits(22, (size_t[]){4, 0, 0, 0, 16});
    fits(14, (size_t[]){4, 0, 0, 0, 8});
}

static void what_is_short_stays(void **state_)
{
    size_t widths[] = {4, 3, 7, 8, 8};

    (void)state_;
    table_fit(columns, 5, 38, widths);
    assert_memory_equal(widths, ((size_t[]){4, 3, 7, 8, 8}), sizeof(widths));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flexible_columns_are_cut_the_widest_first),
        cmocka_unit_test(columns_are_left_out_by_rank),
        cmocka_unit_test(what_is_short_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

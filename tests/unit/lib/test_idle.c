/* The idle set by itself: every transition and its verdict. Named by the flaws of the
 * Volt documentation: F-H1 (only former searchers look again), F-H2 (timeout against
 * claim), F-H4 (a claim in three steps), F-H8 (workers beyond the bitmap). Interleavings
 * are the models'. */
#include "sched/idle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct idle s;

static int setup(void **state)
{
    (void)state;
    idle_init(&s, 4);
    return 0;
}

static void p2_nobody_parked_nobody_claimed(void **state)
{
    (void)state;
    assert_int_equal(idle_claim(&s), -1);
    assert_int_equal(idle_searchers(&s), 0);
}

static void p6_lowest_index_first(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 3, false));
    assert_true(idle_park(&s, 1, false));
    assert_true(idle_park(&s, 2, false));
    assert_int_equal(idle_claim(&s), 1);
    assert_true(idle_unpark(&s, 1));
    assert_true(idle_search_end(&s));
    assert_int_equal(idle_claim(&s), 2);
}

static void f_h9_the_leader_is_spared_while_another_is_parked(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 0, false));
    assert_true(idle_park(&s, 2, false));
    vat_u32_store(&s.leader, 0 + 1, VAT_RLX);
    assert_int_equal(idle_claim(&s), 2);
    assert_true(idle_unpark(&s, 2));
    assert_true(idle_search_end(&s));
    assert_int_equal(idle_claim(&s), 0); /* alone, it is taken */
}

static void p2_one_searcher_is_enough(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 0, false));
    assert_true(idle_park(&s, 1, false));
    assert_int_equal(idle_claim(&s), 0);
    assert_int_equal(idle_claim(&s), -1);
    assert_int_equal(idle_parked(&s), 1);
}

static void f_h4_a_claim_counts_its_searcher_at_once(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 0, false));
    assert_int_equal(idle_claim(&s), 0);
    assert_int_equal(idle_searchers(&s), 1); /* before worker 0 has run a step */
    assert_int_equal(idle_parked(&s), 0);
    assert_true(idle_unpark(&s, 0));
    assert_int_equal(idle_searchers(&s), 1);
    assert_true(idle_search_end(&s));
    assert_int_equal(idle_searchers(&s), 0);
}

static void f_h2_unclaimed_means_not_searching(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 0, false));
    assert_false(idle_unpark(&s, 0));
    assert_int_equal(idle_searchers(&s), 0);
    assert_int_equal(idle_parked(&s), 0);
}

static void f_h1_whoever_leaves_zero_searchers_looks(void **state)
{
    (void)state;
    assert_true(idle_park(&s, 0, false)); /* though it had not been searching */
    assert_true(idle_search_begin(&s));
    assert_true(idle_search_begin(&s));
    assert_false(idle_park(&s, 1, false)); /* two others search */
    assert_false(idle_park(&s, 2, true));  /* one other does */
    assert_true(idle_park(&s, 3, true));
    assert_int_equal(idle_parked(&s), 4);
}

static void s5_half_of_the_workers_search(void **state)
{
    (void)state;
    assert_true(idle_search_begin(&s));
    assert_true(idle_search_begin(&s));
    assert_false(idle_search_begin(&s));
    assert_false(idle_search_end(&s));
    assert_true(idle_search_end(&s));
    idle_init(&s, 1); /* a single worker may */
    assert_true(idle_search_begin(&s));
    assert_false(idle_search_begin(&s));
}

static void f_h8_the_last_worker_has_a_bit(void **state)
{
    uint32_t last = IDLE_MAX_WORKERS - 1;

    (void)state;
    idle_init(&s, IDLE_MAX_WORKERS);
    assert_true(idle_park(&s, last, false));
    assert_int_equal(idle_searchers(&s), 0);
    assert_int_equal(idle_claim(&s), last);
    assert_true(idle_unpark(&s, last));
    assert_int_equal(idle_searchers(&s), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(p2_nobody_parked_nobody_claimed, setup),
        cmocka_unit_test_setup(p6_lowest_index_first, setup),
        cmocka_unit_test_setup(f_h9_the_leader_is_spared_while_another_is_parked, setup),
        cmocka_unit_test_setup(p2_one_searcher_is_enough, setup),
        cmocka_unit_test_setup(f_h4_a_claim_counts_its_searcher_at_once, setup),
        cmocka_unit_test_setup(f_h2_unclaimed_means_not_searching, setup),
        cmocka_unit_test_setup(f_h1_whoever_leaves_zero_searchers_looks, setup),
        cmocka_unit_test_setup(s5_half_of_the_workers_search, setup),
        cmocka_unit_test_setup(f_h8_the_last_worker_has_a_bit, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

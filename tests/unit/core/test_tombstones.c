/* The past of jobs: exact answers, merging in every order, the bound. */
#include "daemon/core/tombstones.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cmocka.h>

static void add(struct tombstones *p, uint64_t id, int32_t code)
{
    struct job_status st = {.state = JOB_DONE,
                            .result = code ? JOB_RESULT_EXIT : JOB_RESULT_SUCCESS,
                            .code = code,
                            .ended_usec = id};
    tombstones_add(p, id, 1000, &st);
}

static void test_neighbours_share(void **state)
{
    struct tombstones p = {0};

    (void)state;
    add(&p, 5, 0);
    add(&p, 7, 0);
    assert_int_equal(p.n, 2);
    add(&p, 6, 0); /* closes the gap */
    assert_int_equal(p.n, 1);
    add(&p, 4, 0);
    add(&p, 8, 0);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.range[0].first, 4);
    assert_int_equal(p.range[0].last, 8);
    assert_int_equal(p.range[0].ended_usec, 8);
    assert_null(tombstones_find(&p, 3));
    assert_null(tombstones_find(&p, 9));
    tombstones_fini(&p);
}

static void test_differing_stay_apart(void **state)
{
    struct tombstones p = {0};
    struct job_status st = {.state = JOB_DONE, .result = JOB_RESULT_SUCCESS};

    (void)state;
    add(&p, 1, 0);
    add(&p, 2, 3);
    tombstones_add(&p, 3, 1001, &st); /* another owner */
    assert_int_equal(p.n, 3);
    assert_int_equal(tombstones_find(&p, 2)->end.code, 3);
    assert_int_equal(tombstones_find(&p, 3)->uid, 1001);
    tombstones_fini(&p);
}

/* Any order of ends, any mixture of codes: every answer is exact. */
static void test_random_order(void **state)
{
    enum { N = 4000 };
    struct tombstones p = {0};
    static uint64_t order[N];
    unsigned seed = 1;

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        order[i] = i + 1;
    for (size_t i = N - 1; i > 0; i--) {
        size_t j = (size_t)rand_r(&seed) % (i + 1);
        uint64_t t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
    for (size_t i = 0; i < N; i++)
        add(&p, order[i], (int32_t)(order[i] / 7 % 3));
    for (uint64_t id = 1; id <= N; id++) {
        const struct tombstone *r = tombstones_find(&p, id);

        assert_non_null(r);
        assert_int_equal(r->end.code, (int32_t)(id / 7 % 3));
    }
    assert_int_equal(p.n, N / 7 + 1); /* every seven the code changes */
    tombstones_fini(&p);
}

/* From the ends, from the middle, one by one, and what is not there. */
static void test_remove(void **state)
{
    struct tombstones p = {0};
    bool there[40] = {false};

    (void)state;
    for (uint64_t id = 1; id < 40; id++) {
        add(&p, id, id > 20);
        there[id] = true;
    }
    for (uint64_t k = 0; k < 60; k++) {
        uint64_t id = k * 17 % 41;

        tombstones_remove(&p, id);
        if (id < 40)
            there[id] = false;
        for (uint64_t i = 1; i < 40; i++) {
            const struct tombstone *r = tombstones_find(&p, i);

            assert_int_equal(r != NULL, there[i]);
            assert_true(!r || r->end.code == (i > 20));
        }
    }
    assert_int_equal(p.n, 0);
    tombstones_fini(&p);
}

static void test_bound(void **state)
{
    struct tombstones p = {0};

    (void)state;
    for (uint64_t id = 1; id <= TOMBSTONES_MAX + 1; id++)
        add(&p, id, (int32_t)(id % 2));
    assert_int_equal(p.n, TOMBSTONES_MAX - TOMBSTONES_MAX / 4 + 1);
    assert_null(tombstones_find(&p, 1));
    assert_non_null(tombstones_find(&p, TOMBSTONES_MAX / 4 + 1));
    assert_non_null(tombstones_find(&p, TOMBSTONES_MAX + 1));
    tombstones_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_share),
        cmocka_unit_test(test_differing_stay_apart),
        cmocka_unit_test(test_random_order),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

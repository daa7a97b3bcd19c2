/* The table of jobs: order, holes, chunks that come and go. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/table.h"

static struct job *fake(uint64_t id)
{
    return (struct job *)(uintptr_t)id; /* never looked into */
}

static uint64_t next(struct table *t, uint64_t id, struct job **ret)
{
    size_t steps = SIZE_MAX;
    return table_next(t, id, &steps, ret);
}

static uint64_t prev(struct table *t, uint64_t id, struct job **ret)
{
    size_t steps = SIZE_MAX;
    return table_prev(t, id, &steps, ret);
}

static void order_and_holes(void **state)
{
    (void)state;
    static const uint64_t ids[] = {5000, 5001, 5003, 6200, 9999, 1000000};
    struct table t = {0};
    struct job *job;
    uint64_t at = 0;

    assert_int_equal(next(&t, 0, &job), 0);
    assert_int_equal(prev(&t, UINT64_MAX, &job), 0);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(table_put(&t, ids[i], fake(ids[i])), 0);
    for (size_t i = 0; i < 6; i++) {
        at = next(&t, at, &job);
        assert_int_equal(at, ids[i]);
        assert_ptr_equal(job, fake(ids[i]));
    }
    assert_int_equal(next(&t, at, &job), 0);
    at = UINT64_MAX;
    for (size_t i = 6; i-- > 0;) {
        at = prev(&t, at, &job);
        assert_int_equal(at, ids[i]);
    }
    assert_int_equal(prev(&t, at, &job), 0);
    assert_ptr_equal(table_get(&t, 5003), fake(5003));
    assert_null(table_get(&t, 5002));
    assert_null(table_get(&t, 1));
    assert_null(table_get(&t, UINT64_MAX));
    table_fini(&t);
}

static void bounded_steps(void **state)
{
    (void)state;
    struct table t = {0};
    struct job *job;
    size_t steps = 10;
    uint64_t at;

    assert_int_equal(table_put(&t, 1, fake(1)), 0);
    assert_int_equal(table_put(&t, 1000, fake(1000)), 0);
    at = table_next(&t, 1, &steps, &job);
    assert_null(job);
    assert_int_equal(steps, 0);
    assert_true(at > 1 && at < 1000);
    assert_int_equal(next(&t, at, &job), 1000);
    steps = 10;
    at = table_next(&t, UINT64_MAX, &steps, &job); /* not the first again */
    assert_null(job);
    assert_int_equal(at, 0);
    at = table_prev(&t, 1000, &steps, &job);
    assert_null(job);
    assert_true(at > 1 && at < 1000);
    assert_int_equal(prev(&t, at, &job), 1);
    table_fini(&t);
}

/* A window that moves over many ids stays small. */
static void moving_window(void **state)
{
    (void)state;
    struct table t = {0};
    struct job *job;

    for (uint64_t id = 100; id < 300000; id++) {
        assert_int_equal(table_put(&t, id, fake(id)), 0);
        if (id >= 3100)
            table_remove(&t, id - 3000);
    }
    assert_int_equal(t.count, 3000);
    assert_true(t.capacity < 64);
    assert_int_equal(next(&t, 0, &job), 297000);
    for (uint64_t id = 297000; id < 300000; id++)
        table_remove(&t, id);
    table_remove(&t, 297000); /* gone already */
    assert_int_equal(t.count, 0);
    assert_int_equal(next(&t, 0, &job), 0);
    assert_int_equal(table_put(&t, 400000, fake(400000)), 0);
    assert_int_equal(next(&t, 0, &job), 400000);
    table_fini(&t);
}

/* Two submissions get the ids before and behind the end of a chunk, and the later one
 * enters first; or the chunk of the earlier has come and gone. */
static void an_earlier_one_comes_later(void **state)
{
    (void)state;
    for (uint64_t chunks = 1; chunks < 40; chunks++) {
        const uint64_t late = TABLE_CHUNK - 1, first = chunks * TABLE_CHUNK;
        struct table t = {0};
        struct job *job;

        for (uint64_t id = first; id < first + 3 * TABLE_CHUNK; id += TABLE_CHUNK)
            assert_int_equal(table_put(&t, id, fake(id)), 0);
        assert_int_equal(table_put(&t, late, fake(late)), 0);
        assert_int_equal(next(&t, 0, &job), late);
        assert_int_equal(next(&t, late, &job), first);
        table_remove(&t, late);
        assert_int_equal(table_put(&t, late - 1, fake(late - 1)), 0);
        assert_int_equal(prev(&t, first, &job), late - 1);
        assert_ptr_equal(table_get(&t, first), fake(first));
        assert_int_equal(t.count, 4);
        table_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_holes),
        cmocka_unit_test(bounded_steps),
        cmocka_unit_test(moving_window),
        cmocka_unit_test(an_earlier_one_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

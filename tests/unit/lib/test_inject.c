/* The global queue by itself: order, batches, what is left. Named by the flaws of the
 * Volt documentation: F-B1 (batches larger than their place), F-A9 (a minimum that
 * serialises). */
#include "sched/inject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct inject q;
static struct volt_task task[1000];

static int setup(void **state)
{
    (void)state;
    inject_init(&q);
    return 0;
}

static void push(uint32_t from, uint32_t n)
{
    struct task_chain chain = {0};

    for (uint32_t i = 0; i < n; i++)
        task_chain_push(&chain, &task[from + i]);
    inject_push(&q, &chain);
    assert_null(chain.head);
}

static uint32_t take(enum inject_share share, uint32_t workers, uint32_t max, bool *more)
{
    struct volt_task *out[INJECT_BATCH_MAX];

    return inject_take(&q, share, workers, max, out, more);
}

static void g1_first_in_first_out_over_both_stages(void **state)
{
    bool more;

    (void)state;
    push(0, 1);
    push(1, 3);
    push(4, 2);
    for (uint32_t i = 0; i < 9; i++) {
        struct volt_task *out;

        if (i == 2)
            push(6, 3); /* while the other stage still holds older ones */
        assert_true(inject_visible(&q));
        assert_int_equal(inject_take(&q, INJECT_IDLE, 1, 1, &out, &more), 1);
        assert_ptr_equal(out, &task[i]);
    }
    assert_false(inject_visible(&q));
    assert_false(more);
    assert_int_equal(inject_len(&q), 0);
}

static void g2_batches_when_idle(void **state)
{
    static const struct {
        uint32_t len, workers, max, expect;
    } row[] = {
        {1, 4, 129, 1},   {3, 4, 129, 3},    {4, 4, 129, 4},     {5, 4, 129, 4},
        {40, 4, 129, 11}, {400, 4, 129, 64}, {1000, 1, 129, 64}, {1000, 1, 10, 10},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        bool more;

        setup(NULL);
        push(0, row[i].len);
        assert_int_equal(inject_len(&q), row[i].len);
        assert_int_equal(take(INJECT_IDLE, row[i].workers, row[i].max, &more),
                         row[i].expect);
        assert_int_equal(more, row[i].len > row[i].expect);
        assert_int_equal(inject_len(&q), row[i].len - row[i].expect);
    }
}

static void d3_batches_beside_own_work(void **state)
{
    static const struct {
        uint32_t len, workers, max, expect;
    } row[] = {
        {1, 4, 257, 1},    {5, 4, 257, 4}, {40, 4, 257, 10},
        {400, 4, 257, 32}, {400, 4, 3, 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        bool more;

        setup(NULL);
        push(0, row[i].len);
        assert_int_equal(take(INJECT_PERIODIC, row[i].workers, row[i].max, &more),
                         row[i].expect);
    }
}

static void f_b1_never_more_than_fits(void **state)
{
    bool more;

    (void)state;
    push(0, 100);
    assert_int_equal(take(INJECT_IDLE, 1, 0, &more), 0);
    assert_int_equal(take(INJECT_IDLE, 1, 2, &more), 2);
    assert_true(more);
    assert_int_equal(inject_len(&q), 98);
}

static void a_second_consumer_does_not_wait(void **state)
{
    bool more;

    (void)state;
    push(0, 2);
    vlock_lock(&q.lock);
    assert_int_equal(take(INJECT_IDLE, 1, 9, &more), 0);
    assert_false(more); /* the holder announces what it leaves */
    vlock_unlock(&q.lock);
    assert_int_equal(take(INJECT_IDLE, 1, 9, &more), 2);
}

/* Queued while another producer has the lock; then moved behind what was there. */
static void the_length_counts_both_stages(void **state)
{
    bool more;

    (void)state;
    push(0, 2);
    vlock_lock(&q.lock);
    push(2, 3);
    vlock_unlock(&q.lock);
    assert_int_equal(inject_len(&q), 5);
    push(5, 1);
    assert_int_equal(inject_len(&q), 6);
    assert_int_equal(take(INJECT_IDLE, 1, 4, &more), 4);
    assert_int_equal(inject_len(&q), 2);
    vlock_lock(&q.lock);
    push(6, 1);
    vlock_unlock(&q.lock);
    assert_int_equal(take(INJECT_IDLE, 1, 9, &more), 2);
    assert_int_equal(take(INJECT_IDLE, 1, 9, &more), 1);
    assert_int_equal(inject_len(&q), 0);
}

static void the_gate_opens_when_all_have_left(void **state)
{
    (void)state;
    inject_enter(&q);
    inject_enter(&q);
    inject_leave(&q);
    assert_int_equal(vat_u32_load(&q.gate, VAT_RLX), 1);
    inject_leave(&q);
    inject_drain_users(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(g1_first_in_first_out_over_both_stages, setup),
        cmocka_unit_test_setup(g2_batches_when_idle, setup),
        cmocka_unit_test_setup(d3_batches_beside_own_work, setup),
        cmocka_unit_test_setup(f_b1_never_more_than_fits, setup),
        cmocka_unit_test_setup(a_second_consumer_does_not_wait, setup),
        cmocka_unit_test_setup(the_length_counts_both_stages, setup),
        cmocka_unit_test_setup(the_gate_opens_when_all_have_left, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

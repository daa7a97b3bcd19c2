/* The run queue by itself. Named by the flaws of the Volt documentation: F-C1 (a theft
 * overwrites what another thief still reads), F-C3 (length counted from steal), F-C5 (the
 * oldest tasks lose their turn), F-C6 (a lock for each of them), F-C7 (BUSY
 * reported as EMPTY). */
#include "sched/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct ring a, b;
static struct volt_task task[4 * RING_CAPACITY];

static int setup(void **state)
{
    (void)state;
    ring_init(&a);
    ring_init(&b);
    return 0;
}

/* As setup, with positions about to wrap. */
static void start_at(struct ring *r, uint32_t position)
{
    vat_u64_init(&r->head, (uint64_t)position << 32 | position);
    vat_u32_init(&r->tail, position);
}

static void push(struct ring *r, uint32_t from, uint32_t n)
{
    struct task_chain none = {0};

    for (uint32_t i = 0; i < n; i++)
        assert_true(ring_push(r, &task[from + i], &none));
}

/* A thief that has claimed n tasks of r and is still copying. */
static void begin_theft(struct ring *r, uint32_t n)
{
    (void)vat_u64_add(&r->head, n, VAT_RLX);
}

static void end_theft(struct ring *r)
{
    uint32_t real = (uint32_t)vat_u64_load(&r->head, VAT_RLX);

    vat_u64_store(&r->head, (uint64_t)real << 32 | real, VAT_RLX);
}

static void first_in_first_out_across_the_wrap(void **state)
{
    (void)state;
    start_at(&a, UINT32_MAX - 100);
    push(&a, 0, RING_CAPACITY);
    assert_int_equal(ring_len(&a), RING_CAPACITY);
    assert_int_equal(ring_room(&a), 0);
    for (uint32_t i = 0; i < RING_CAPACITY; i++)
        assert_ptr_equal(ring_pop(&a), &task[i]);
    assert_null(ring_pop(&a));
}

static void steal_takes_the_older_half_rounded_up(void **state)
{
    struct volt_task *t;
    uint32_t n;

    (void)state;
    start_at(&b, UINT32_MAX - 2);
    push(&a, 0, 7);
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_STOLEN);
    assert_int_equal(n, 4);
    assert_ptr_equal(t, &task[0]);
    for (uint32_t i = 1; i < 4; i++)
        assert_ptr_equal(ring_pop(&b), &task[i]);
    assert_null(ring_pop(&b));
    for (uint32_t i = 4; i < 7; i++)
        assert_ptr_equal(ring_pop(&a), &task[i]);
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_EMPTY);
}

static void steal_of_one(void **state)
{
    struct volt_task *t;
    uint32_t n;

    (void)state;
    push(&a, 5, 1);
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_STOLEN);
    assert_int_equal(n, 1);
    assert_ptr_equal(t, &task[5]);
    assert_int_equal(ring_len(&a) + ring_len(&b), 0);
}

static void f_c1_steal_leaves_what_is_being_copied_out_of_the_thief(void **state)
{
    struct volt_task *t;
    uint32_t n;

    (void)state;
    push(&a, 0, RING_CAPACITY);
    push(&b, RING_CAPACITY, RING_CAPACITY);
    begin_theft(&b, RING_HALF); /* somebody reads b's slots 0..127 */
    for (uint32_t i = RING_HALF; i < RING_CAPACITY; i++)
        assert_ptr_equal(ring_pop(&b), &task[RING_CAPACITY + i]);
    assert_int_equal(ring_len(&b), 0);
    assert_int_equal(ring_room(&b), 0); /* empty, and yet full */
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_STOLEN);
    assert_int_equal(n, 1); /* which is returned, not stored */
    assert_ptr_equal(t, &task[0]);
    for (uint32_t i = 0; i < RING_HALF; i++)
        assert_ptr_equal(b.slot[i], &task[RING_CAPACITY + i]);
}

static void f_c3_length_is_counted_from_real(void **state)
{
    (void)state;
    push(&a, 0, 2);
    begin_theft(&a, 2);
    assert_int_equal(ring_len(&a), 0);
    assert_null(ring_pop(&a));
}

static void f_c7_a_second_thief_is_told_busy(void **state)
{
    struct volt_task *t;
    uint32_t n;

    (void)state;
    push(&a, 0, 8);
    begin_theft(&a, 4);
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_BUSY);
    end_theft(&a);
    assert_int_equal(ring_steal(&a, &b, &t, &n), RING_STOLEN);
}

static void f_c5_f_c6_overflow_moves_the_newer_half_in_one_chain(void **state)
{
    struct task_chain excess = {0};

    (void)state;
    start_at(&a, UINT32_MAX - 10);
    push(&a, 0, RING_CAPACITY);
    assert_false(ring_push(&a, &task[RING_CAPACITY], &excess));
    assert_int_equal(excess.count, RING_HALF + 1);
    for (uint32_t i = RING_HALF; i <= RING_CAPACITY; i++)
        assert_ptr_equal(task_chain_pop(&excess), &task[i]);
    assert_null(excess.head);
    for (uint32_t i = 0; i < RING_HALF; i++)
        assert_ptr_equal(ring_pop(&a), &task[i]);
    assert_null(ring_pop(&a));
}

static void f_c5_the_oldest_keep_their_turn_however_often_it_is_full(void **state)
{
    (void)state;
    push(&a, 0, RING_HALF);
    for (uint32_t i = 1; i < 4; i++) {
        struct task_chain excess = {0};

        push(&a, i * RING_HALF, RING_HALF);
        assert_false(ring_push(&a, &task[3 * RING_CAPACITY], &excess));
        assert_int_equal(excess.count, RING_HALF + 1);
        assert_ptr_equal(excess.head, &task[i * RING_HALF]);
    }
    for (uint32_t i = 0; i < RING_HALF; i++)
        assert_ptr_equal(ring_pop(&a), &task[i]);
    assert_null(ring_pop(&a));
}

/* Wherever the ring stands, and however full it is. */
static void the_newer_tasks_are_taken_and_the_older_stay(void **state)
{
    static const uint32_t sizes[][2] = {
        {8, 3}, {RING_CAPACITY - 1, RING_CAPACITY - 2}, {8, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        const uint32_t all = sizes[i][0], older = sizes[i][1];
        struct task_chain newer = {0};

        start_at(&a, UINT32_MAX - 4);
        push(&a, 0, all);
        const uint32_t first = ring_first(&a);
        assert_true(ring_take_newer(&a, first + older, &newer));
        assert_int_equal(newer.count, all - older);
        assert_int_equal(ring_first(&a), first); /* places are kept */
        assert_int_equal(ring_last(&a), first + older);
        for (uint32_t k = older; k < all; k++)
            assert_ptr_equal(task_chain_pop(&newer), &task[k]);
        push(&a, all, 1);
        for (uint32_t k = 0; k < older; k++)
            assert_ptr_equal(ring_pop(&a), &task[k]);
        assert_ptr_equal(ring_pop(&a), &task[all]);
        assert_null(ring_pop(&a));
    }
}

static void nothing_newer_is_taken(void **state)
{
    struct task_chain newer = {0};

    (void)state;
    start_at(&a, 10);
    assert_false(ring_take_newer(&a, 10, &newer)); /* an empty ring */
    push(&a, 0, 4);
    assert_false(ring_take_newer(&a, 14, &newer)); /* none is newer */
    begin_theft(&a, 2);
    assert_false(ring_take_newer(&a, 13, &newer));
    end_theft(&a);
    assert_null(newer.head);
    assert_true(ring_take_newer(&a, 10, &newer)); /* the theft has taken two of them */
    assert_int_equal(newer.count, 2);
    assert_ptr_equal(newer.head, &task[2]);
}

static void r7_overflow_during_a_theft_moves_the_new_task_only(void **state)
{
    struct task_chain excess = {0};

    (void)state;
    push(&a, 0, RING_CAPACITY);
    begin_theft(&a, 3);
    assert_false(ring_push(&a, &task[RING_CAPACITY], &excess));
    assert_int_equal(excess.count, 1);
    assert_ptr_equal(excess.head, &task[RING_CAPACITY]);
    end_theft(&a);
    push(&a, RING_CAPACITY, 3); /* the room that the thief made */
    assert_int_equal(ring_len(&a), RING_CAPACITY);
}

static void r13_push_and_pop_go_on_during_a_theft(void **state)
{
    (void)state;
    push(&a, 0, 4);
    begin_theft(&a, 2);
    push(&a, 4, 1);
    for (uint32_t i = 2; i < 5; i++)
        assert_ptr_equal(ring_pop(&a), &task[i]);
    assert_null(ring_pop(&a));
    end_theft(&a);
    push(&a, 5, 1);
    assert_ptr_equal(ring_pop(&a), &task[5]);
}

static void chain_fills_the_room_and_keeps_the_rest(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    push(&a, 0, RING_CAPACITY - 3);
    for (uint32_t i = 0; i < 5; i++)
        task_chain_push(&chain, &task[RING_CAPACITY + i]);
    assert_int_equal(ring_push_chain(&a, &chain), 3);
    assert_int_equal(chain.count, 2);
    assert_ptr_equal(chain.head, &task[RING_CAPACITY + 3]);
    assert_int_equal(ring_push_chain(&a, &chain), 0);
    assert_int_equal(ring_len(&a), RING_CAPACITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_in_first_out_across_the_wrap, setup),
        cmocka_unit_test_setup(steal_takes_the_older_half_rounded_up, setup),
        cmocka_unit_test_setup(steal_of_one, setup),
        cmocka_unit_test_setup(f_c1_steal_leaves_what_is_being_copied_out_of_the_thief,
                               setup),
        cmocka_unit_test_setup(f_c3_length_is_counted_from_real, setup),
        cmocka_unit_test_setup(f_c7_a_second_thief_is_told_busy, setup),
        cmocka_unit_test_setup(f_c5_f_c6_overflow_moves_the_newer_half_in_one_chain,
                               setup),
        cmocka_unit_test_setup(f_c5_the_oldest_keep_their_turn_however_often_it_is_full,
                               setup),
        cmocka_unit_test_setup(the_newer_tasks_are_taken_and_the_older_stay, setup),
        cmocka_unit_test_setup(nothing_newer_is_taken, setup),
        cmocka_unit_test_setup(r7_overflow_during_a_theft_moves_the_new_task_only, setup),
        cmocka_unit_test_setup(r13_push_and_pop_go_on_during_a_theft, setup),
        cmocka_unit_test_setup(chain_fills_the_room_and_keeps_the_rest, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

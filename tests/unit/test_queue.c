/* The queue: priority, order, removal, slots, an array that keeps its
 * place, positions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/exec/queue.h"

static struct queue *new_queue(uint32_t slots)
{
    struct queue *q = malloc(sizeof(*q));

    assert_non_null(q);
    queue_init(q, slots);
    return q;
}

static void priority_then_order(void **state)
{
    (void)state;
    static const int32_t priorities[] = {0, 5, -1000, 0, 1000, 5, 0};
    static const size_t order[] = {4, 1, 5, 0, 3, 6, 2};
    struct queue *q = new_queue(7);
    struct queue_node n[7] = {{.order = 0}};

    for (size_t i = 0; i < 7; i++)
        queue_add(q, &n[i], priorities[i]);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(queue_position(q, &n[order[i]]), i);
    for (size_t i = 0; i < 7; i++)
        assert_ptr_equal(queue_take(q), &n[order[i]]);
    assert_null(queue_take(q));
    assert_int_equal(q->used, 7);
    assert_int_equal(q->waiting, 0);
    free(q);
}

static void slots_bound_what_runs(void **state)
{
    (void)state;
    struct queue *q = new_queue(1);
    struct queue_node a = {0}, b = {0};

    queue_add(q, &a, 0);
    queue_add(q, &b, 0);
    assert_ptr_equal(queue_take(q), &a);
    assert_null(queue_take(q));
    queue_release(q);
    assert_ptr_equal(queue_take(q), &b);
    queue_release(q);
    assert_null(queue_take(q));
    assert_int_equal(q->used, 0);

    queue_add(q, &a, 0);
    queue_set_slots(q, 0);
    assert_null(queue_take(q));
    queue_set_slots(q, 1);
    assert_ptr_equal(queue_take(q), &a);
    free(q);
}

/* Who comes back does so in the order of arrival, whoever comes back first. */
/* Who asks without waiting gets a slot that nobody waits for. */
static void nobody_is_passed(void **state)
{
    (void)state;
    struct queue *q = new_queue(2);
    struct queue_node a = {0};

    assert_true(queue_take_free(q));
    queue_add(q, &a, 0);
    assert_false(queue_take_free(q));
    assert_ptr_equal(queue_take(q), &a);
    assert_false(queue_take_free(q));
    queue_release(q);
    assert_true(queue_take_free(q));
    assert_int_equal(q->used, 2);
    free(q);
}

static void back_to_their_places(void **state)
{
    (void)state;
    struct queue *q = new_queue(4);
    struct queue_node n[5] = {{.order = 0}}, placed = {.order = 0};

    queue_place(q, &placed, 0);
    for (size_t i = 0; i < 5; i++)
        queue_add(q, &n[i], 0);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(queue_take(q), &n[i]);
    queue_put_back(q, &n[2]);
    queue_put_back(q, &n[0]);
    queue_put_back(q, &placed);
    queue_put_back(q, &n[3]);
    queue_put_back(q, &n[1]);
    for (size_t i = 0; i < 4; i++)
        queue_release(q);
    queue_set_slots(q, 6);
    assert_int_equal(queue_position(q, &n[4]), 5);
    assert_ptr_equal(queue_take(q), &placed);
    for (size_t i = 0; i < 5; i++)
        assert_ptr_equal(queue_take(q), &n[i]);
    assert_null(queue_take(q));
    free(q);
}

static void places_compare_by_priority_then_order(void **state)
{
    struct queue q;
    struct queue_node early = {0}, late = {0}, high = {0};

    (void)state;
    queue_init(&q, 1);
    queue_place(&q, &early, 0);
    queue_place(&q, &late, 0);
    queue_add(&q, &high, 1);
    assert_true(queue_before(&early, &late) && !queue_before(&late, &early));
    assert_true(queue_before(&high, &early) && !queue_before(&early, &high));
    assert_false(queue_before(&early, &early));
}

static void removal_anywhere(void **state)
{
    (void)state;
    struct queue *q = new_queue(10);
    struct queue_node n[5] = {{.order = 0}};

    for (size_t i = 0; i < 5; i++)
        queue_add(q, &n[i], 0);
    queue_remove(q, &n[0]);
    queue_remove(q, &n[2]);
    queue_remove(q, &n[4]);
    queue_remove(q, &n[4]); /* not there: nothing */
    assert_int_equal(q->waiting, 2);
    assert_int_equal(queue_position(q, &n[3]), 1);
    assert_ptr_equal(queue_take(q), &n[1]);
    assert_ptr_equal(queue_take(q), &n[3]);
    assert_null(queue_take(q));
    queue_add(q, &n[0], 3); /* its bucket was emptied by removal before */
    queue_remove(q, &n[0]);
    assert_null(queue_take(q));
    free(q);
}

static void array_keeps_its_place(void **state)
{
    (void)state;
    struct queue *q = new_queue(3);
    struct queue_node array = {0}, later = {0};

    queue_add(q, &array, 0);
    queue_add(q, &later, 0);
    assert_ptr_equal(queue_take(q), &array);
    queue_put_back(q, &array);
    assert_ptr_equal(queue_take(q), &array);
    queue_put_back(q, &array);
    assert_int_equal(queue_position(q, &later), 1);
    assert_ptr_equal(queue_take(q), &array);
    queue_release(q);
    assert_ptr_equal(queue_take(q), &later);
    free(q);
}

/* Also of the next higher priority, whose bucket is the one before. */
static void one_that_wants_many_takes_what_there_is(void **state)
{
    struct queue *q = calloc(1, sizeof(*q));
    struct queue_node n = {.queued = false};

    (void)state;
    assert_non_null(q);
    queue_init(q, 10);
    queue_add(q, &n, 0);
    assert_ptr_equal(queue_take(q), &n);
    assert_int_equal(queue_take_more(q, 0), 0);
    assert_int_equal(queue_take_more(q, 4), 4);
    assert_int_equal(queue_take_more(q, UINT64_MAX), 5);
    assert_int_equal(queue_take_more(q, 1), 0);
    assert_int_equal(q->used, 10);
    queue_set_slots(q, 3); /* fewer than are used */
    assert_int_equal(queue_take_more(q, 1), 0);
    queue_release_some(q, 8);
    assert_int_equal(queue_take_more(q, 5), 1);
    queue_release_some(q, 0);
    queue_release_some(q, 3);
    assert_int_equal(q->used, 0);
    free(q);
}

static void the_more_urgent_are_in_front(void **state)
{
    (void)state;
    struct queue *q = new_queue(0);
    struct queue_node n[4] = {{.order = 0}};

    for (int i = 0; i < 4; i++)
        queue_add(q, &n[i], i == 0 ? JOB_PRIORITY_MAX : 4 - i);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(queue_position(q, &n[i]), i);
    free(q);
}

static void far_positions_are_bounds(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct queue *q = new_queue(0);
    struct queue_node *n = calloc(N, sizeof(*n));

    for (size_t i = 0; i < N; i++)
        queue_add(q, &n[i], 0);
    assert_int_equal(queue_position(q, &n[999]), 999);
    for (size_t i = 1; i < 500; i++)
        queue_remove(q, &n[i]);
    assert_int_equal(queue_position(q, &n[999]), 500); /* not 999: so many are not left */
    assert_int_equal(queue_position(q, &n[500]), 1);
    free(n);
    free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_then_order),
        cmocka_unit_test(slots_bound_what_runs),
        cmocka_unit_test(nobody_is_passed),
        cmocka_unit_test(back_to_their_places),
        cmocka_unit_test(places_compare_by_priority_then_order),
        cmocka_unit_test(removal_anywhere),
        cmocka_unit_test(array_keeps_its_place),
        cmocka_unit_test(one_that_wants_many_takes_what_there_is),
        cmocka_unit_test(the_more_urgent_are_in_front),
        cmocka_unit_test(far_positions_are_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The owner's side of the scheduler without threads: where tokens go, in which order they
 * come out, who is woken. The test thread plays the workers. Named by the flaws of the
 * Volt documentation: F-B1, F-C4, F-D1, F-D2, F-D4, F-H3, F-H6, F-H7 and the rule
 * INJ-1. */
#include "sched/local.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { WORKERS = 3, TASKS = 4 * RING_CAPACITY };

static struct sched *s;
static struct worker *w;
static struct volt_task task[TASKS];
static struct volt_cx cx[WORKERS];

static int setup(void **state)
{
    static struct sched sched[2];
    static struct worker worker[2][WORKERS];

    (void)state;
    memset(sched, 0, sizeof(sched));
    memset(worker, 0, sizeof(worker));
    for (int i = 0; i < 2; i++)
        sched_init(&sched[i], worker[i], WORKERS, true, 1);
    s = sched;
    w = worker[0];
    for (int i = 0; i < WORKERS; i++) {
        cx[i] = (struct volt_cx){.worker = &w[i], .budget = VOLT_BUDGET_PER_POLL};
        w[i].cx = &cx[i];
    }
    memset(task, 0, sizeof(task));
    for (int i = 0; i < TASKS; i++)
        task[i].rt = (struct volt_runtime *)(void *)s;
    worker_set_current(NULL);
    return 0;
}

/* Worker i sleeps; it is found at rest, so the verdict of its park is of no interest. */
static void sleep_worker(uint32_t i)
{
    bool look = idle_park(&s->idle, i, false);

    (void)look;
}

static bool claimed(uint32_t i)
{
    return vat_u32_load(&w[i].park.word, VAT_RLX) == PARK_NOTIFIED;
}

static uint32_t inject(uint32_t from, uint32_t n)
{
    struct task_chain chain = {0};

    for (uint32_t i = 0; i < n; i++)
        task_chain_push(&chain, &task[from + i]);
    inject_push(&s->inject, &chain);
    return n;
}

static void l2_the_newest_goes_to_the_slot_the_previous_to_the_ring(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        worker_schedule(&w[0], &task[i]);
    assert_int_equal(ring_len(&w[0].ring), 2);
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
    assert_ptr_equal(worker_local(&w[0]), &task[0]);
    assert_ptr_equal(worker_local(&w[0]), &task[1]);
    assert_null(worker_local(&w[0]));
}

static void l3_l5_three_in_a_row_then_the_ring(void **state)
{
    (void)state;
    worker_push(&w[0], &task[9]);
    for (int i = 0; i < VOLT_MAX_LIFO_POLLS_PER_TICK; i++) {
        worker_schedule(&w[0], &task[i]);
        assert_ptr_equal(worker_local(&w[0]), &task[i]);
    }
    worker_schedule(&w[0], &task[3]); /* the fourth of a chain of wakes */
    assert_null(vat_ptr_load(&w[0].lifo, VAT_RLX));
    assert_ptr_equal(worker_local(&w[0]), &task[9]);
    assert_ptr_equal(worker_local(&w[0]), &task[3]);
    worker_schedule(&w[0], &task[4]); /* the slot is open again */
    assert_ptr_equal(vat_ptr_load(&w[0].lifo, VAT_RLX), &task[4]);
}

static void l4_at_the_cap_the_slot_is_flushed_to_the_ring(void **state)
{
    (void)state;
    worker_push(&w[0], &task[9]);
    worker_schedule(&w[0], &task[0]);
    w[0].lifo_polls = VOLT_MAX_LIFO_POLLS_PER_TICK;
    assert_ptr_equal(worker_local(&w[0]), &task[9]);
    assert_int_equal(ring_len(&w[0].ring), 1); /* thieves see it */
    assert_ptr_equal(worker_local(&w[0]), &task[0]);
}

static void l4_at_the_cap_a_task_alone_stays(void **state)
{
    (void)state;
    sleep_worker(1);
    for (int i = 0; i < 2 * VOLT_MAX_LIFO_POLLS_PER_TICK; i++) {
        worker_schedule(&w[0], &task[i]);
        assert_ptr_equal(worker_local(&w[0]), &task[i]);
    }
    assert_false(claimed(1)); /* a pair that wakes each other is not torn apart */
}

static void d2_successors_in_the_slot_inherit_the_budget(void **state)
{
    (void)state;
    worker_schedule(&w[0], &task[0]);
    w[0].cx->budget = 5;
    assert_ptr_equal(worker_local(&w[0]), &task[0]);
    assert_int_equal(w[0].cx->budget, 5);
    worker_push(&w[0], &task[1]);
    worker_schedule(&w[0], &task[2]);
    w[0].cx->budget = 0; /* nothing to inherit */
    assert_ptr_equal(worker_local(&w[0]), &task[1]);
    assert_int_equal(w[0].cx->budget, VOLT_BUDGET_PER_POLL);
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
}

static void f_h7_local_pushes_wake_a_worker(void **state)
{
    (void)state;
    sleep_worker(1);
    sleep_worker(2);
    worker_schedule(&w[0], &task[0]); /* into the empty slot: the worker itself comes */
    assert_false(claimed(1));
    worker_schedule(&w[0], &task[1]);
    assert_true(claimed(1));
    assert_false(claimed(2)); /* P-2: exactly one */
    worker_schedule(&w[0], &task[2]);
    assert_false(claimed(2)); /* somebody searches */
    assert_int_equal(vat_u64_load(&w[0].count.wakeups, VAT_RLX), 1);
    assert_int_equal(vat_u64_load(&w[0].count.wakeups_skipped, VAT_RLX), 1);
}

static void f_c4_overflow_is_announced(void **state)
{
    (void)state;
    for (int i = 0; i < RING_CAPACITY; i++)
        worker_push(&w[0], &task[i]);
    sleep_worker(1);
    worker_push(&w[0], &task[RING_CAPACITY]);
    assert_true(claimed(1));
    assert_int_equal(inject_len(&s->spill), RING_HALF + 1);
    assert_int_equal(ring_len(&w[0].ring), RING_HALF);
    assert_int_equal(vat_u64_load(&w[0].count.overflows, VAT_RLX), 1);
}

static void a_long_chain_fills_the_ring_and_the_rest_is_announced(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    sleep_worker(1);
    worker_set_current(&w[0]);
    for (int i = 0; i < RING_CAPACITY + 10; i++)
        task_chain_push(&chain, &task[i]);
    sched_submit_chain(&chain);
    assert_null(chain.head);
    assert_int_equal(ring_len(&w[0].ring), RING_CAPACITY);
    assert_int_equal(inject_len(&s->spill), 10);
    assert_true(claimed(1));
}

static void g7_injected_work_does_not_wait_behind_overflow(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    for (int i = 0; i < 300; i++)
        task_chain_push(&chain, &task[i]);
    inject_push(&s->spill, &chain);
    inject(500, 1);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[500]);
    assert_ptr_equal(worker_local(&w[0]), &task[0]); /* which goes on all the same */
}

static void g7_a_glance_takes_one_from_outside(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    task_chain_push(&chain, &task[0]);
    inject_push(&s->spill, &chain);
    assert_null(worker_glance(&w[0]));
    inject(1, 3);
    sleep_worker(1);
    worker_push(&w[0], &task[9]);
    assert_ptr_equal(worker_glance(&w[0]), &task[1]); /* at once: past the ring */
    assert_int_equal(ring_len(&w[0].ring), 1);
    assert_int_equal(inject_len(&s->inject), 2);
    assert_true(claimed(1)); /* INJ-1 */
}

static void f_d1_other_threads_go_through_the_global_queue(void **state)
{
    (void)state;
    sleep_worker(1);
    sched_submit(&task[0]);
    assert_int_equal(inject_len(&s->inject), 1);
    assert_true(claimed(1));
    assert_null(vat_ptr_load(&w[1].lifo, VAT_RLX));
    assert_int_equal(vat_u32_load(&s->inject.gate, VAT_RLX), 0);
}

static void f_d2_a_worker_of_another_runtime_is_a_foreign_thread(void **state)
{
    struct sched *other = s + 1;
    struct task_chain chain = {0};

    (void)state;
    worker_set_current(&other->worker[0]);
    sched_submit(&task[0]);
    assert_int_equal(inject_len(&s->inject), 1);
    assert_null(vat_ptr_load(&other->worker[0].lifo, VAT_RLX));
    /* and a chain is parted by runtime, in order */
    task[2].rt = (struct volt_runtime *)(void *)other;
    for (int i = 1; i < 4; i++)
        task_chain_push(&chain, &task[i]);
    sched_submit_chain(&chain);
    assert_int_equal(inject_len(&s->inject), 3);
    assert_ptr_equal(vat_ptr_load(&other->worker[0].lifo, VAT_RLX), &task[2]);
}

static void f_b1_a_batch_can_be_stolen(void **state)
{
    (void)state;
    sleep_worker(1);
    inject(0, 30);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_IDLE), &task[0]);
    assert_int_equal(ring_len(&w[0].ring), 10); /* 30 / 3 + 1, one of them runs */
    assert_true(claimed(1));
    w[2].searching = true;
    assert_ptr_equal(worker_search(&w[2]), &task[1]);
    assert_int_equal(vat_u64_load(&w[2].count.steal_ops, VAT_RLX), 1);
    assert_int_equal(vat_u64_load(&w[2].count.stolen, VAT_RLX), 5);
}

static void inj_1_what_a_busy_consumer_leaves_is_announced(void **state)
{
    (void)state;
    sleep_worker(2);
    inject(0, 5);
    for (int i = 0; i < RING_CAPACITY; i++) /* so that nothing goes to the ring */
        worker_push(&w[0], &task[10 + i]);
    vat_u64_store(&s->idle.word, 0, VAT_RLX);
    vat_u32_store(&w[2].park.word, PARK_EMPTY, VAT_RLX);
    sleep_worker(2);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[0]);
    assert_true(claimed(2));
}

static void batches_leave_the_second_half_of_the_ring_free(void **state)
{
    (void)state;
    inject(0, 300);
    for (int i = 0; i < RING_HALF - 3; i++)
        worker_push(&w[0], &task[400 + i]);
    assert_non_null(worker_take_global(&w[0], INJECT_IDLE));
    assert_int_equal(ring_len(&w[0].ring), RING_HALF);
    assert_non_null(worker_take_global(&w[0], INJECT_IDLE));
    assert_int_equal(ring_len(&w[0].ring), RING_HALF);
}

static void
p3_the_last_searcher_with_work_wakes_the_next_only_if_work_is_visible(void **state)
{
    (void)state;
    sleep_worker(1);
    w[0].searching = idle_search_begin(&s->idle);
    worker_search_end(&w[0]);
    assert_false(claimed(1)); /* nothing there */
    w[0].searching = idle_search_begin(&s->idle);
    struct task_chain none = {0};
    assert_true(ring_push(&w[2].ring, &task[0], &none));
    worker_search_end(&w[0]);
    assert_true(claimed(1));
}

static void f_h3_the_parker_looks_after_it_has_published(void **state)
{
    (void)state;
    inject(0, 1);
    assert_null(worker_park(&w[0])); /* did not sleep */
    assert_int_equal(idle_parked(&s->idle), 0);
    assert_true(w[0].searching); /* so that it passes on what it does not take */
    assert_int_equal(vat_u64_load(&w[0].count.parked, VAT_RLX), 0);
}

static void f_h6_the_look_before_sleep_sees_every_queue(void **state)
{
    struct task_chain chain = {0}, none = {0};

    (void)state;
    assert_true(ring_push(&w[1].ring, &task[0], &none));
    assert_null(worker_park(&w[0]));
    assert_non_null(ring_pop(&w[1].ring));
    task_chain_push(&chain, &task[1]);
    inject_push(&s->spill, &chain);
    assert_null(worker_park(&w[0]));
    assert_int_equal(vat_u64_load(&w[0].count.parked, VAT_RLX), 0);
    assert_int_equal(idle_parked(&s->idle), 0);
}

/* Nobody can take it: a worker that stayed awake for it would spin. */
static void f_d4_the_look_before_sleep_ignores_slots(void **state)
{
    (void)state;
    worker_schedule(&w[1], &task[0]);
    assert_false(park_unpark(&w[0].park)); /* a stale token ends the sleep at once */
    assert_null(worker_park(&w[0]));
    assert_int_equal(vat_u64_load(&w[0].count.spurious_wakes, VAT_RLX), 1);
}

static void p8_an_unclaimed_wake_is_spurious(void **state)
{
    (void)state;
    w[1].searching = idle_search_begin(&s->idle); /* so that worker 0 need not look */
    assert_false(park_unpark(&w[0].park));        /* a stale token */
    assert_null(worker_park(&w[0]));
    assert_false(w[0].searching);
    assert_int_equal(vat_u64_load(&w[0].count.spurious_wakes, VAT_RLX), 1);
}

static void w2_without_stealing_rings_are_private(void **state)
{
    (void)state;
    s->stealing = false;
    sleep_worker(1);
    worker_push(&w[0], &task[0]);
    assert_false(claimed(1));
    w[2].searching = idle_search_begin(&s->idle);
    assert_null(worker_search(&w[2]));
}

static void s1_every_other_worker_is_asked(void **state)
{
    struct task_chain none = {0};

    (void)state;
    for (uint32_t victim = 1; victim < WORKERS; victim++) {
        w[0].searching = true;
        assert_true(ring_push(&w[victim].ring, &task[victim], &none));
        assert_ptr_equal(worker_search(&w[0]), &task[victim]);
    }
    assert_null(worker_search(&w[0]));
}

static void a_busy_victim_is_asked_again_and_counted(void **state)
{
    struct task_chain none = {0};

    (void)state;
    assert_true(ring_push(&w[1].ring, &task[0], &none));
    assert_true(ring_push(&w[1].ring, &task[1], &none));
    (void)vat_u64_add(&w[1].ring.head, 1, VAT_RLX); /* another thief copies */
    w[0].searching = true;
    assert_null(worker_search(&w[0]));
    assert_int_equal(vat_u64_load(&w[0].count.busy_victims, VAT_RLX), 4);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(l2_the_newest_goes_to_the_slot_the_previous_to_the_ring),
        T(l3_l5_three_in_a_row_then_the_ring),
        T(l4_at_the_cap_the_slot_is_flushed_to_the_ring),
        T(l4_at_the_cap_a_task_alone_stays),
        T(d2_successors_in_the_slot_inherit_the_budget),
        T(f_h7_local_pushes_wake_a_worker),
        T(f_c4_overflow_is_announced),
        T(a_long_chain_fills_the_ring_and_the_rest_is_announced),
        T(g7_injected_work_does_not_wait_behind_overflow),
        T(g7_a_glance_takes_one_from_outside),
        T(f_d1_other_threads_go_through_the_global_queue),
        T(f_d2_a_worker_of_another_runtime_is_a_foreign_thread),
        T(f_b1_a_batch_can_be_stolen),
        T(inj_1_what_a_busy_consumer_leaves_is_announced),
        T(batches_leave_the_second_half_of_the_ring_free),
        T(p3_the_last_searcher_with_work_wakes_the_next_only_if_work_is_visible),
        T(f_h3_the_parker_looks_after_it_has_published),
        T(f_h6_the_look_before_sleep_sees_every_queue),
        T(f_d4_the_look_before_sleep_ignores_slots),
        T(p8_an_unclaimed_wake_is_spurious),
        T(w2_without_stealing_rings_are_private),
        T(s1_every_other_worker_is_asked),
        T(a_busy_victim_is_asked_again_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The global queue's two lanes, what other threads submit and what full rings throw out, by
 * the owner's side: what is fetched, in which order, and what is announced. The test thread
 * plays the workers. Named by the flaws of the Volt documentation: F-C4, and the rules G-2,
 * G-7 and INJ-1. */
#include "tests/support/played_workers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
    w[0].clock += 1000000;
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[500]);
    assert_ptr_equal(worker_local(&w[0]), &task[0]); /* which goes on all the same */
}

/* What has come to the ring since the last turn goes behind what full rings have thrown
 * out; what was there before stays, and so does what was fetched. */
static void full_rings_and_what_they_threw_out_take_turns(void **state)
{
    struct task_chain chain = {0};
    struct volt_task *t;
    uint32_t rest;
    bool more;
    int turned = 0;

    (void)state;
    worker_push(&w[0], &task[900]);
    assert_null(worker_take_global(&w[0], INJECT_PERIODIC)); /* the first turn */
    for (int i = 0; i < 300; i++)
        task_chain_push(&chain, &task[i]);
    inject_push(&s->spill, &chain);
    worker_push(&w[0], &task[901]);
    w[0].clock += 1000000;
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[0]);
    rest = inject_len(&s->spill);
    assert_ptr_equal(worker_local(&w[0]), &task[900]);
    assert_ptr_equal(worker_local(&w[0]), &task[1]);
    worker_push(&w[0], &task[1]);
    assert_null(worker_take_global(&w[0], INJECT_PERIODIC)); /* too early */
    assert_int_equal(inject_len(&s->spill), rest);
    w[0].clock += 1000000;
    assert_non_null(worker_take_global(&w[0], INJECT_PERIODIC));
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
    while (inject_take(&s->spill, INJECT_IDLE, 1, 1, &t, &more)) {
        if (t == &task[901])
            assert_int_equal(turned++, 0);
        if (t == &task[1])
            assert_int_equal(turned++, 1);
    }
    assert_int_equal(turned, 2);
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

/* What was fetched to the ring came before it. */
static void a_glance_passes_nothing_that_was_fetched(void **state)
{
    (void)state;
    inject(1, 3);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_IDLE), &task[1]);
    inject(9, 1);
    assert_null(worker_glance(&w[0]));
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
    assert_null(worker_glance(&w[0]));
    assert_ptr_equal(worker_local(&w[0]), &task[3]);
    worker_push(&w[0], &task[20]); /* came later */
    assert_ptr_equal(worker_glance(&w[0]), &task[9]);
}

/* Worker 0 has fetched tasks 1 to 3, of which the first has run; the lane's turn is over, and
 * what came to the ring since goes behind the lane: the ring has moved tasks 2 and 3. */
static void fetch_three_and_turn(void)
{
    struct task_chain out = {0};

    inject(1, 3);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_IDLE), &task[1]);
    for (int i = 0; i < 100; i++)
        worker_push(&w[0], &task[100 + i]);
    for (int i = 0; i < 300; i++)
        task_chain_push(&out, &task[300 + i]);
    inject_push(&s->spill, &out);
    w[0].clock += 1000000;
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[300]);
}

/* Wherever it stands then. */
static void a_glance_passes_nothing_fetched_that_the_ring_has_moved(void **state)
{
    (void)state;
    fetch_three_and_turn();
    inject(9, 1);
    assert_null(worker_glance(&w[0]));
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
    assert_null(worker_glance(&w[0]));
    assert_ptr_equal(worker_local(&w[0]), &task[3]);
    assert_ptr_equal(worker_glance(&w[0]), &task[9]); /* past what came from the lane */
}

static void nor_when_the_ring_was_full(void **state)
{
    (void)state;
    inject(1, 3);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_IDLE), &task[1]);
    for (int i = 0; i < RING_CAPACITY - 1; i++)
        worker_push(&w[0], &task[100 + i]);
    assert_int_equal(inject_len(&s->spill), RING_HALF + 1);
    inject(9, 1);
    assert_null(worker_glance(&w[0]));
    assert_ptr_equal(worker_local(&w[0]), &task[2]);
    assert_ptr_equal(worker_local(&w[0]), &task[3]);
    assert_ptr_equal(worker_glance(&w[0]), &task[9]);
}

/* Places wrap, and between two batches may lie any number of tasks. */
static void a_glance_does_not_wait_for_what_was_fetched_long_ago(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        vat_u64_init(&w[0].ring.head, ring_pack(i << 30, i << 30));
        vat_u32_init(&w[0].ring.tail, i << 30);
        assert_null(worker_glance(&w[0])); /* there is none */
        inject(i, 1);
        assert_ptr_equal(worker_glance(&w[0]), &task[i]);
    }
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

/* Of 12 in the global queue, beside so many sleepers. */
static uint32_t share_of_12(uint32_t sleepers, uint32_t cpus)
{
    struct volt_task *t;
    uint32_t n;

    for (uint32_t i = 0; i < sleepers; i++)
        sleep_worker(WORKERS - 1 - i);
    s->cpus = cpus;
    inject(0, 12);
    t = worker_take_global(&w[0], INJECT_IDLE);
    assert_ptr_equal(t, &task[0]);
    n = 1 + ring_len(&w[0].ring);
    assert_int_equal(w[0].came, n);
    return n;
}

static void g2_a_batch_is_a_share_of_those_that_are_awake(void **state)
{
    static const struct {
        uint32_t sleepers, cpus, share;
    } c[] = {{0, 0, 5}, {0, 8, 5}, {0, 2, 7}, {1, 0, 7}, {1, 1, 12}, {2, 0, 12}};

    for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
        setup(state);
        assert_int_equal(share_of_12(c[i].sleepers, c[i].cpus), c[i].share);
    }
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

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(f_c4_overflow_is_announced),
        T(a_long_chain_fills_the_ring_and_the_rest_is_announced),
        T(g7_injected_work_does_not_wait_behind_overflow),
        T(full_rings_and_what_they_threw_out_take_turns),
        T(g7_a_glance_takes_one_from_outside),
        T(a_glance_passes_nothing_that_was_fetched),
        T(a_glance_passes_nothing_fetched_that_the_ring_has_moved),
        T(nor_when_the_ring_was_full),
        T(a_glance_does_not_wait_for_what_was_fetched_long_ago),
        T(inj_1_what_a_busy_consumer_leaves_is_announced),
        T(g2_a_batch_is_a_share_of_those_that_are_awake),
        T(batches_leave_the_second_half_of_the_ring_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
    (void)state;
    throw_out(0, 300);
    inject(500, 1);
    w[0].clock += 1000000;
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[500]);
    assert_ptr_equal(worker_local(&w[0]), &task[0]); /* which goes on all the same */
}

/* What has come to the ring since the last turn goes behind what full rings have thrown
 * out; what was there before stays, and so does what was fetched. */
static void full_rings_and_what_they_threw_out_take_turns(void **state)
{
    struct volt_task *t;
    uint32_t rest;
    bool more;
    int turned = 0;

    (void)state;
    worker_push(&w[0], &task[900]);
    assert_null(worker_take_global(&w[0], INJECT_PERIODIC)); /* the first turn */
    throw_out(0, 300);
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

/* Its tasks are 0, 1 and so on; `older` of them came before the lane's last turn, and it is
 * time for the next one. */
static void fill_ring(uint32_t older)
{
    for (uint32_t i = 0; i < RING_CAPACITY; i++) {
        if (i == older)
            assert_null(worker_take_global(&w[0], INJECT_PERIODIC));
        worker_push(&w[0], &task[i]);
    }
    if (older == RING_CAPACITY)
        assert_null(worker_take_global(&w[0], INJECT_PERIODIC));
    w[0].clock += 1000000;
}

static void assert_ring_begins_with(uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i++)
        assert_ptr_equal(ring_pop(&w[0].ring), &task[i]);
}

/* One task, for it runs at once: from outside, or else of the lane. */
static void to_a_full_ring_one_task_is_fetched(void **state)
{
    (void)state;
    fill_ring(RING_CAPACITY);
    throw_out(400, 10);
    inject(500, 1);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[500]);
    assert_int_equal(inject_len(&s->spill), 10);
    w[0].clock += 1000000;
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[400]);
    assert_int_equal(inject_len(&s->spill), 9);
    assert_int_equal(ring_len(&w[0].ring), RING_CAPACITY);
    assert_ring_begins_with(0, RING_CAPACITY);
}

/* Of the ring, then of the lane. */
static struct volt_task *next_of_both(void)
{
    struct volt_task *t = ring_pop(&w[0].ring);
    bool more;

    if (!t && inject_take(&s->spill, INJECT_IDLE, 1, 1, &t, &more) == 0)
        return NULL;
    return t;
}

static void what_a_full_ring_keeps_and_gives_away_stays_in_order(void **state)
{
    enum { OLDER = 100 };

    (void)state;
    fill_ring(OLDER);
    throw_out(400, 3);
    inject(500, 2);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_PERIODIC), &task[500]);
    assert_int_equal(inject_len(&s->inject), 1); /* which is for the next glance */
    assert_ring_begins_with(0, OLDER);
    assert_ring_begins_with(400, 3);
    for (uint32_t i = OLDER; i < RING_CAPACITY; i++)
        assert_ptr_equal(next_of_both(), &task[i]);
    assert_null(next_of_both());
    assert_ptr_equal(worker_glance(&w[0]), &task[501]);
}

enum { BUSY_POLLS = 1000 };
static uint32_t polls, ran_after;

static enum volt_poll is_busy(struct volt_cx *c, void *state)
{
    struct volt_task *outside = *(struct volt_task **)state;
    struct task_chain chain = {0};

    if (++polls == BUSY_POLLS) {
        task_chain_push(&chain, outside);
        inject_push(&s->inject, &chain);
        w[0].fetched = ring_last(&w[0].ring) + (1 << 30); /* no glance may take it */
    }
    if (ran_after != 0) {
        vat_u32_store(&s->stop, 1, VAT_RLX);
        return VOLT_READY;
    }
    volt_cx_wake(c);
    return VOLT_PENDING;
}

static enum volt_poll notes_polls(struct volt_cx *c, void *state)
{
    (void)c, (void)state;
    ran_after = polls - BUSY_POLLS + 1;
    return VOLT_READY;
}

static void g7_a_busy_worker_fetches_within_the_interval(void **state)
{
    static const struct volt_task_type busy = {.size = sizeof(struct volt_task *),
                                               .poll = is_busy},
                                       last = {.size = 1, .poll = notes_polls};
    struct volt_task **outside = volt_task_new(NULL, &busy);
    void *comes = volt_task_new(NULL, &last);

    (void)state;
    assert_non_null(outside);
    assert_non_null(comes);
    polls = ran_after = 0;
    *outside = task_of(comes);
    task_begin(task_of(comes), false);
    task_begin(task_of(outside), false);
    worker_push(&w[0], task_of(outside));
    worker_main(&w[0]);
    assert_in_range(ran_after, 1, VOLT_MAX_GLOBAL_QUEUE_INTERVAL);
}

static void g7_a_glance_takes_one_from_outside(void **state)
{
    (void)state;
    throw_out(0, 1);
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
    inject(1, 3);
    assert_ptr_equal(worker_take_global(&w[0], INJECT_IDLE), &task[1]);
    for (int i = 0; i < 100; i++)
        worker_push(&w[0], &task[100 + i]);
    throw_out(300, 300);
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
        T(to_a_full_ring_one_task_is_fetched),
        T(what_a_full_ring_keeps_and_gives_away_stays_in_order),
        T(g7_a_busy_worker_fetches_within_the_interval),
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

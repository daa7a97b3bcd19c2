/* The owner's side of the scheduler without threads: where tokens go, in which order they
 * come out, who is woken. The global queue is in test_lanes.c. Named by the flaws of the
 * Volt documentation: F-B1, F-D1, F-D2, F-D4, F-H3, F-H6, F-H7. */
#include "tests/support/played_workers.h"
#include "base/clock.h"
#include "driver/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
    for (int i = 0; i < LIFO_CAP; i++) {
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
    w[0].lifo_polls = LIFO_CAP;
    assert_ptr_equal(worker_local(&w[0]), &task[9]);
    assert_int_equal(ring_len(&w[0].ring), 1); /* thieves see it */
    assert_ptr_equal(worker_local(&w[0]), &task[0]);
}

static void l4_at_the_cap_a_task_alone_stays(void **state)
{
    (void)state;
    sleep_worker(1);
    for (int i = 0; i < 2 * LIFO_CAP; i++) {
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
    assert_int_equal(ring_len(&w[0].ring), 15); /* 30 / 2 + 1, one of them runs */
    assert_true(claimed(1));
    w[2].searching = true;
    assert_ptr_equal(worker_search(&w[2]), &task[1]);
    assert_int_equal(vat_u64_load(&w[2].count.steal_ops, VAT_RLX), 1);
    assert_int_equal(vat_u64_load(&w[2].count.stolen, VAT_RLX), 8);
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

/* A sentinel that sleeps on its park word: a timer that nobody looks after is found a
 * millisecond after its time, one that is being looked after keeps nobody awake. */
static void a_sentinel_finds_the_timer_that_waits(void **state)
{
    struct volt_sleep sleep = {.deadline_usec = 1000000005000};
    uint64_t now = 1000000000000, due;

    (void)state;
    assert_int_equal(driver_new(WORKERS, &s->driver), 0);
    assert_int_equal(sentinel_next_timer(&w[0], now), UINT64_MAX);
    assert_false(sentinel_timer_waits(&w[0], now));
    vat_u64_init(&task[0].state, TASK_REF_ONE);
    assert_int_equal(driver_arm(s->driver, 1, &sleep, &task[0], now), 0);
    due = driver_next_deadline(s->driver);
    assert_int_equal(sentinel_next_timer(&w[0], now), due + 1000);
    assert_false(sentinel_timer_waits(&w[0], due + 999));
    assert_true(sentinel_timer_waits(&w[0], due + 1000));
    assert_true(driver_try_enter(s->driver));
    assert_false(sentinel_timer_waits(&w[0], due + 1000));
    assert_true(sentinel_next_timer(&w[0], due + 5000) > due + 5000);
    driver_leave(s->driver);
    volt_sleep_fini(&sleep);
    driver_free(s->driver);
    s->driver = NULL;
}

/* Others' timers too, whether or not anything has a descriptor: their workers may be in
 * long polls. */
static void a_busy_worker_fires_the_timers_of_others(void **state)
{
    uint64_t now = clock_ns() / 1000;
    struct volt_sleep sleep = {.deadline_usec = now - 1000};

    (void)state;
    assert_int_equal(driver_new(WORKERS, &s->driver), 0);
    vat_u64_init(&task[0].state, TASK_REF_ONE);
    assert_int_equal(driver_arm(s->driver, 1, &sleep, &task[0], now), 0);
    worker_poll_events(&w[0], clock_ns());
    assert_ptr_equal(worker_local(&w[0]), &task[0]);
    volt_sleep_fini(&sleep);
    driver_free(s->driver);
    s->driver = NULL;
}

/* Two look round: one may be called away, and nobody need be woken in its place. */
static void two_sleepers_are_sentinels(void **state)
{
    (void)state;
    s->sentinel_usec = 1000;
    for (int i = 0; i < 3; i++)
        sentinel_begin(&w[i], 1000);
    assert_true(w[0].sentinel && w[1].sentinel);
    assert_false(w[2].sentinel);
    sentinel_end(&w[0]);
    sentinel_begin(&w[2], 1000);
    assert_true(w[2].sentinel);
    assert_int_equal(vat_u32_load(&s->sentinels, VAT_RLX), 2);
}

/* One that is called away again and again looks round all the same when it is time. */
static void a_short_sleep_does_not_put_off_a_look(void **state)
{
    (void)state;
    s->sentinel_usec = 1000;
    for (uint64_t now = 5000; now < 6000; now += 300) {
        sentinel_begin(&w[0], now);
        assert_int_equal(w[0].next_look, 6000);
        sentinel_end(&w[0]);
    }
    sentinel_begin(&w[0], 6000); /* it was awake then */
    assert_int_equal(w[0].next_look, 7000);
}

/* What lies in the global queue at two looks, and nobody searches, was left there: one
 * rescue. Something that a search has taken meanwhile begins anew. */
static void a_rescue_is_two_looks_at_what_lies_there(void **state)
{
    (void)state;
    s->sentinel_usec = 1000;
    inject(0, 1);
    assert_false(sentinel_look(&w[0], 1000));
    assert_non_null(worker_take_global(&w[1], INJECT_IDLE));
    assert_false(sentinel_look(&w[0], 2000));
    inject(1, 1);
    assert_false(sentinel_look(&w[0], 3000));
    assert_int_equal(vat_u64_load(&w[0].count.rescues, VAT_RLX), 0);
    assert_true(sentinel_look(&w[0], 4000));
    assert_int_equal(vat_u64_load(&w[0].count.rescues, VAT_RLX), 1);
}

/* --- more workers than processors --- */

static const struct volt_task_type brief = {.name = "brief"}, other = {.name = "other"};

/* Worker 0 has found work as a searcher, others sleep from `sleepers` on, a task lies with
 * worker 2. */
static void crowd(uint32_t cpus, uint32_t sleepers)
{
    struct task_chain none = {0};

    s->cpus = cpus;
    s->hold_ns = 1000000000;
    vat_u32_init(&s->sentinels, 1);
    hold_learn(&w[0], &brief, 1000);
    for (uint32_t i = sleepers; i < WORKERS; i++)
        sleep_worker(i);
    w[0].searching = idle_search_begin(&s->idle);
    assert_true(ring_push(&w[2].ring, &task[0], &none));
}

static bool stays(void)
{
    worker_search_found(&w[0], &brief);
    assert_int_equal(vat_u32_load(&w[0].searches, VAT_RLX), w[0].searching);
    assert_int_equal((w[0].apart & WORKER_SEARCHES) != 0, w[0].searching);
    return w[0].searching;
}

static void a_searcher_stays_one_where_enough_are_awake(void **state)
{
    (void)state;
    crowd(1, 1);
    assert_true(stays());
    assert_true(stays());
    assert_false(claimed(1));
    assert_int_equal(idle_searchers(&s->idle), 1);
    worker_search_found(&w[0], &other);
    assert_false(w[0].searching);
    assert_int_equal(w[0].apart & WORKER_SEARCHES, 0);
    assert_int_equal(vat_u32_load(&w[0].searches, VAT_RLX), 0);
    assert_true(claimed(1)); /* for that poll may last */
    worker_search_found(&w[0], &brief);
    assert_int_equal(w[0].apart & WORKER_SEARCHES, 0); /* it is none any more */
}

static void until_others_sleep(void **state)
{
    (void)state;
    crowd(2, 2);
    assert_true(stays());
    sleep_worker(1);
    assert_false(stays());
    assert_true(claimed(1));
}

static void or_another_searches(void **state)
{
    (void)state;
    crowd(2, 2);
    assert_true(stays());
    w[1].searching = idle_search_begin(&s->idle);
    assert_true(w[1].searching);
    assert_false(stays());
}

static void or_for_a_while(void **state)
{
    (void)state;
    crowd(1, 1);
    w[0].clock = w[0].searches_since + 1000000000;
    assert_true(stays()); /* it has just begun */
    w[0].searches_since = w[0].clock;
    w[0].clock += 499999;
    assert_true(stays());
    assert_int_equal(w[0].apart & WORKER_TIME_NEXT, 0);
    w[0].clock++;
    assert_false(stays()); /* nobody has come to what lies with worker 2 */
    assert_int_equal(w[0].apart & WORKER_TIME_NEXT, WORKER_TIME_NEXT);
}

static void a_while_passes(void)
{
    w[0].apart &= ~WORKER_TIME_NEXT;
    w[0].clock += 500000;
}

/* After each while it looks whether others get on with what lies with them. */
static void or_longer_while_others_get_on(void **state)
{
    (void)state;
    crowd(1, 1);
    assert_true(stays());
    for (uint32_t seq = 1; seq < 4; seq++) {
        vat_u32_store(&w[2].poll_seq, seq, VAT_RLX);
        vat_u64_store(&w[2].count.avg_ns, s->hold_ns - 1, VAT_RLX);
        a_while_passes();
        assert_true(stays());
        assert_int_equal(w[0].apart & WORKER_TIME_NEXT, WORKER_TIME_NEXT);
        assert_true(w[0].searches_since == w[0].clock);
        assert_true(stays()); /* the next look is after another while */
    }
    assert_false(claimed(1));
    a_while_passes();
    assert_false(stays()); /* worker 2 is in the same poll */
    assert_true(claimed(1));
}

static void not_while_their_polls_are_long(void **state)
{
    (void)state;
    crowd(1, 1);
    assert_true(stays());
    vat_u32_store(&w[2].poll_seq, 1, VAT_RLX);
    vat_u64_store(&w[2].count.avg_ns, s->hold_ns, VAT_RLX);
    a_while_passes();
    assert_false(stays());
    assert_true(claimed(1));
}

/* What lies with it is its own affair, and what lies nowhere waits for nobody. */
static void only_others_count(void **state)
{
    struct task_chain none = {0};
    struct volt_task *t;

    (void)state;
    crowd(1, 1);
    t = ring_pop(&w[2].ring);
    assert_non_null(t);
    assert_true(ring_push(&w[0].ring, t, &none));
    assert_true(stays());
    a_while_passes();
    assert_true(stays());
    assert_true(forks_push(&w[2].forks, &task[1]));
    a_while_passes();
    assert_false(stays());
}

static enum volt_poll sees_others_sleep(struct volt_cx *c, void *state)
{
    uint32_t *polls = state, searches = vat_u32_load(&w[0].searches, VAT_RLX);

    if (*polls == 0)
        assert_int_equal(searches, 1);
    if (++*polls == 10)
        sleep_worker(1);
    if (*polls >= 10 && (searches == 0 || *polls == 1000)) {
        vat_u32_store(&s->stop, 1, VAT_RLX);
        return VOLT_READY;
    }
    volt_cx_wake(c);
    return VOLT_PENDING;
}

static uint32_t polls_until_it_left;

static void note_polls(void *state)
{
    polls_until_it_left = *(uint32_t *)state;
}

/* The answer for tasks of one type holds until the next look at what is due, 8 polls at
 * most. */
static void it_asks_anew_though_the_type_stays(void **state)
{
    static const struct volt_task_type type = {
        .size = sizeof(uint32_t), .poll = sees_others_sleep, .drop = note_polls};
    struct task_chain none = {0};
    uint32_t *polls = volt_task_new(NULL, &type);

    (void)state;
    assert_non_null(polls);
    *polls = 0;
    crowd(2, 2);
    assert_ptr_equal(ring_pop(&w[2].ring), &task[0]);
    hold_learn(&w[0], &type, 1000);
    task_begin(task_of(polls), false);
    assert_true(ring_push(&w[2].ring, task_of(polls), &none));
    worker_main(&w[0]);
    assert_false(w[0].searching);
    assert_in_range(polls_until_it_left, 11, 10 + 8 + 1);
}

/* It has nothing to run, and takes turns with others, one of which will search. */
static void one_too_many_sleeps_at_once(void **state)
{
    (void)state;
    crowd(1, WORKERS);
    assert_true(worker_is_surplus(&w[1]));
    assert_false(worker_is_surplus(&w[0])); /* this is the one that will search */
    s->cpus = 3;
    assert_false(worker_is_surplus(&w[1])); /* each has a processor */
    s->cpus = 0;
    assert_false(worker_is_surplus(&w[1]));
    s->cpus = 2;
    assert_true(worker_is_surplus(&w[1]));
    s->groups = 2;
    assert_false(worker_is_surplus(&w[1]));
    s->groups = 1;
    vat_u32_store(&s->sentinels, 0, VAT_RLX);
    assert_false(worker_is_surplus(&w[1]));
    vat_u32_store(&s->sentinels, 1, VAT_RLX);
    sleep_worker(2);
    assert_false(worker_is_surplus(&w[1]));
    s->cpus = 1;
    assert_true(worker_is_surplus(&w[1]));
    w[0].searching = false;
    assert_true(idle_search_end(&s->idle));
    assert_false(worker_is_surplus(&w[1])); /* nobody searches */
}

static void and_not_where_processors_are_not_counted(void **state)
{
    (void)state;
    crowd(0, 1);
    assert_false(stays());
}

/* A sentinel that acts must be able to search beside it. */
static void nor_where_there_are_two_workers(void **state)
{
    (void)state;
    crowd(1, 1);
    s->workers = 2;
    assert_false(stays());
}

/* Of what others queue nobody tells while it searches: it does, when it looks again. */
static void going_out_it_searches_on(void **state)
{
    (void)state;
    crowd(1, 1);
    assert_true(stays());
    worker_search_again(&w[0]);
    assert_int_equal(vat_u32_load(&w[0].searches, VAT_RLX), 0);
    assert_int_equal(w[0].apart, 0);
    assert_true(w[0].searching);
    assert_int_equal(idle_searchers(&s->idle), 1);
}

/* For what comes from outside nobody is woken while it is counted. */
static void a_sentinel_looks_behind_a_searcher_that_is_stuck(void **state)
{
    (void)state;
    s->sentinel_usec = 1000;
    vat_u32_store(&w[1].searches, 1, VAT_RLX);
    assert_false(sentinel_look(&w[0], 1000)); /* nothing waits */
    vat_u32_store(&w[1].poll_seq, 1, VAT_RLX);
    inject(0, 1);
    w[2].searching = idle_search_begin(&s->idle);
    assert_true(w[2].searching);
    assert_false(sentinel_look(&w[0], 2000)); /* it has polled since */
    vat_u32_store(&w[1].searches, 0, VAT_RLX);
    assert_false(sentinel_look(&w[0], 3000)); /* it was no searcher */
    vat_u32_store(&w[1].searches, 1, VAT_RLX);
    assert_true(sentinel_look(&w[0], 4000));
}

static void a_worker_that_would_take_turns_does_not_spin(void **state)
{
    struct volt_task *t = NULL;

    (void)state;
    crowd(2, WORKERS);
    s->spin_most = 1000000000;
    for (int i = 0; i < 10; i++)
        assert_null(worker_spin(&w[0])); /* three are awake */
    sleep_worker(1);
    for (int i = 0; i < 10; i++)
        assert_null(worker_spin(&w[0])); /* two: each has a processor, and nobody else */
    sleep_worker(2);
    while (!t) /* unless the system takes the processor away just then */
        t = worker_spin(&w[0]);
    assert_ptr_equal(t, &task[0]);
}

static void one_that_has_a_processor_does(void **state)
{
    struct volt_task *t = NULL;

    (void)state;
    crowd(WORKERS, WORKERS);
    s->spin_most = 1000000000;
    while (!t)
        t = worker_spin(&w[0]);
    assert_ptr_equal(t, &task[0]);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_searcher_stays_one_where_enough_are_awake),
        T(until_others_sleep),
        T(or_another_searches),
        T(or_for_a_while),
        T(or_longer_while_others_get_on),
        T(it_asks_anew_though_the_type_stays),
        T(not_while_their_polls_are_long),
        T(only_others_count),
        T(one_too_many_sleeps_at_once),
        T(and_not_where_processors_are_not_counted),
        T(nor_where_there_are_two_workers),
        T(going_out_it_searches_on),
        T(a_sentinel_looks_behind_a_searcher_that_is_stuck),
        T(a_worker_that_would_take_turns_does_not_spin),
        T(one_that_has_a_processor_does),
        T(l2_the_newest_goes_to_the_slot_the_previous_to_the_ring),
        T(l3_l5_three_in_a_row_then_the_ring),
        T(l4_at_the_cap_the_slot_is_flushed_to_the_ring),
        T(l4_at_the_cap_a_task_alone_stays),
        T(d2_successors_in_the_slot_inherit_the_budget),
        T(f_h7_local_pushes_wake_a_worker),
        T(f_d1_other_threads_go_through_the_global_queue),
        T(f_d2_a_worker_of_another_runtime_is_a_foreign_thread),
        T(f_b1_a_batch_can_be_stolen),
        T(p3_the_last_searcher_with_work_wakes_the_next_only_if_work_is_visible),
        T(f_h3_the_parker_looks_after_it_has_published),
        T(f_h6_the_look_before_sleep_sees_every_queue),
        T(f_d4_the_look_before_sleep_ignores_slots),
        T(p8_an_unclaimed_wake_is_spurious),
        T(w2_without_stealing_rings_are_private),
        T(s1_every_other_worker_is_asked),
        T(a_busy_victim_is_asked_again_and_counted),
        T(a_sentinel_finds_the_timer_that_waits),
        T(a_busy_worker_fires_the_timers_of_others),
        T(two_sleepers_are_sentinels),
        T(a_short_sleep_does_not_put_off_a_look),
        T(a_rescue_is_two_looks_at_what_lies_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

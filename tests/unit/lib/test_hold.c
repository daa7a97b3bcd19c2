/* Wakes that are held back (lib/sched/hold.h), without threads: the test plays worker 0,
 * worker 1 sleeps, and a sentinel is said to be there. The models show that nothing is
 * stranded; here it is what is expected of which type, and when the wake goes out. */
#include "sched/local.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { WORKERS = 2, TASKS = 16, HOLD = 1000000000 }; /* no test lasts for so long */

static struct sched sched;
static struct worker worker[WORKERS];
static struct volt_task task[TASKS];
static struct volt_cx cx[WORKERS];
static const struct volt_task_type brief = {.name = "brief"}, other = {.name = "other"};

static int setup(void **state)
{
    (void)state;
    memset(&sched, 0, sizeof(sched));
    memset(worker, 0, sizeof(worker));
    memset(task, 0, sizeof(task));
    sched_init(&sched, worker, WORKERS, true, 1);
    sched.hold_ns = HOLD;
    vat_u32_init(&sched.sentinels, 1);
    for (int i = 0; i < WORKERS; i++) {
        cx[i] = (struct volt_cx){.worker = &worker[i], .budget = VOLT_BUDGET_PER_POLL};
        worker[i].cx = &cx[i];
    }
    for (int i = 0; i < TASKS; i++) {
        task[i].rt = (struct volt_runtime *)(void *)&sched;
        task[i].type = &brief;
    }
    hold_learn(&worker[0], &brief, HOLD / 4);
    bool look = idle_park(&sched.idle, 1, false); /* nobody else looks */
    (void)look;
    return 0;
}

static bool woken(void)
{
    return vat_u32_load(&worker[1].park.word, VAT_RLX) == PARK_NOTIFIED;
}

static void held_until_the_sum_is_a_wake(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        worker_push(&worker[0], &task[i]);
    assert_false(woken());
    worker_push(&worker[0], &task[3]);
    assert_true(woken());
}

static void a_chain_counts_as_a_whole(void **state)
{
    struct task_chain chain = {0};

    (void)state;
    for (int i = 0; i < 3; i++)
        task_chain_push(&chain, &task[i]);
    worker_push_chain(&worker[0], &chain);
    assert_false(woken());
    assert_int_equal(ring_len(&worker[0].ring), 3);
    for (int i = 3; i < 8; i++)
        task_chain_push(&chain, &task[i]);
    worker_push_chain(&worker[0], &chain);
    assert_true(woken());
}

static void an_unknown_type_is_announced_at_once(void **state)
{
    (void)state;
    task[1].type = &other;
    worker_push(&worker[0], &task[0]);
    assert_false(woken());
    worker_push(&worker[0], &task[1]);
    assert_true(woken());
}

static void nothing_is_held_without_a_sentinel(void **state)
{
    (void)state;
    vat_u32_init(&sched.sentinels, 0);
    worker_push(&worker[0], &task[0]);
    assert_true(woken());
}

static void nor_inside_a_poll_that_may_last(void **state)
{
    (void)state;
    vat_ptr_init(&worker[0].count.running, (void *)(uintptr_t)&other);
    worker_push(&worker[0], &task[0]);
    assert_true(woken());
}

static void nor_by_polls_inside_a_poll(void **state)
{
    (void)state;
    vat_ptr_init(&worker[0].count.running, (void *)(uintptr_t)&brief);
    cx[0].depth = 1;
    worker_push(&worker[0], &task[0]);
    assert_true(woken());
}

static void told_before_a_poll_that_may_last(void **state)
{
    (void)state;
    task[1].type = &other;
    worker_push(&worker[0], &task[0]);
    hold_before_poll(&worker[0], &task[2]);
    hold_after_poll(&worker[0]);
    assert_false(woken());
    hold_before_poll(&worker[0], &task[1]);
    assert_true(woken());
}

static void told_when_the_worker_is_given_away(void **state)
{
    (void)state;
    worker_push(&worker[0], &task[0]);
    hold_leave(&worker[0]);
    assert_true(woken());
}

static void forgotten_when_all_of_it_has_run(void **state)
{
    (void)state;
    task[1].type = &other;
    worker_push(&worker[0], &task[0]);
    assert_ptr_equal(worker_local(&worker[0]), &task[0]);
    hold_before_poll(&worker[0], &task[1]);
    assert_false(woken());
    hold_after_poll(&worker[0]);
    assert_int_equal(worker[0].apart, 0);
}

/* What was pushed unknown is timed, and held back from then on. */
static void a_type_becomes_known(void **state)
{
    (void)state;
    task[0].type = task[1].type = &other;
    worker_push(&worker[0], &task[0]);
    assert_true(woken());
    assert_true(worker[0].apart != 0);
    assert_ptr_equal(worker_local(&worker[0]), &task[0]);
    hold_before_poll(&worker[0], &task[0]);
    hold_after_poll(&worker[0]);
    assert_int_equal(worker[0].apart, 0);
    assert_true(hold_expect(&worker[0], &other) < HOLD / 4);
}

/* One poll that lasts makes a type long again only if it is not the only one. */
static void the_mean_rises_fast_and_falls_slowly(void **state)
{
    uint32_t before = hold_expect(&worker[0], &brief), after;

    (void)state;
    hold_learn(&worker[0], &brief, UINT64_MAX);
    after = hold_expect(&worker[0], &brief);
    assert_true(after > before && after < HOLD / 2);
    hold_learn(&worker[0], &brief, 0);
    assert_in_range(hold_expect(&worker[0], &brief), after / 2, after - 1);
    for (int i = 0; i < 100; i++)
        hold_learn(&worker[0], &brief, UINT64_MAX);
    assert_true(hold_expect(&worker[0], &brief) == HOLD_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(held_until_the_sum_is_a_wake, setup),
        cmocka_unit_test_setup(a_chain_counts_as_a_whole, setup),
        cmocka_unit_test_setup(an_unknown_type_is_announced_at_once, setup),
        cmocka_unit_test_setup(nothing_is_held_without_a_sentinel, setup),
        cmocka_unit_test_setup(nor_inside_a_poll_that_may_last, setup),
        cmocka_unit_test_setup(nor_by_polls_inside_a_poll, setup),
        cmocka_unit_test_setup(told_before_a_poll_that_may_last, setup),
        cmocka_unit_test_setup(told_when_the_worker_is_given_away, setup),
        cmocka_unit_test_setup(forgotten_when_all_of_it_has_run, setup),
        cmocka_unit_test_setup(a_type_becomes_known, setup),
        cmocka_unit_test_setup(the_mean_rises_fast_and_falls_slowly, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* job_act(): what a job has, by its state; and that a second call changes nothing. The
 * tasks that recovery makes are in test_recover.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/core/act.h"
#include "daemon/core/state.h"
#include "tests/support/bare_core.h"

static struct core core;
static struct job job;
static struct work work;

static int setup(void **state)
{
    (void)state;
    bare_core_init(&core, NULL, NULL, 1);
    work = (struct work){.core = &core, .job = &job, .offset = NO_OFFSET};
    job = (struct job){.id = 7, .kind = JOB_KIND_EXEC};
    assert_int_equal(waiting_assign(&core, &job, NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    bare_core_fini(&core);
    return 0;
}

/* Twice: the second time there is nothing to do. */
static void act(bool waits, bool retired)
{
    struct tx tx;

    for (int i = 0; i < 2; i++) {
        tx_init(&tx, &core);
        assert_int_equal(job_act(&tx, &job, NO_OFFSET), 0);
        assert_int_equal(tx.nspawn, 0);
        assert_int_equal(job.waiter.state == WAITER_LINE, waits);
        assert_int_equal(waiting_count(&core), waits);
        assert_int_equal(job.retired, retired);
        assert_int_equal(core.ended_weight, retired);
        assert_ptr_equal(core.ended.first, retired ? &job.node : NULL);
    }
}

static void has_task(enum work_place place)
{
    job.live = &work;
    job.tasks = 1;
    work.place = place;
}

static void a_queued_job_waits_in_the_line(void **state)
{
    (void)state;
    act(true, false);
    has_task(PLACE_SLOT); /* it has its slot, and is to start */
    act(false, false);
}

static void what_has_a_condition_is_not_in_the_line(void **state)
{
    (void)state;
    assert_int_equal(condition_replace_add(core.parts.admit, &job.waiter, 3), 0);
    act(false, false);
    condition_replace_gone(core.parts.admit, 3, 0);
    act(true, false);
}

static void what_starts_early_keeps_its_place(void **state)
{
    (void)state;
    act(true, false);
    has_task(PLACE_EARLY);
    job.status.state = JOB_STARTING;
    act(true, false);
    work.place = PLACE_SLOT; /* it has got it */
    act(false, false);
    work.place = PLACE_NONE; /* it was switched off with the machine */
    act(false, false);
}

static void what_stops_wants_no_slot(void **state)
{
    (void)state;
    act(true, false);
    has_task(PLACE_EARLY);
    job.status.state = JOB_STOPPING;
    act(false, false);
}

static void an_ended_job_is_retired_when_its_task_has_gone(void **state)
{
    (void)state;
    act(true, false);
    has_task(PLACE_NONE);
    job.status.state = JOB_DONE;
    act(false, false);
    job.live = NULL;
    job.tasks = 0;
    act(false, true);
}

static void what_takes_no_slot_waits_in_no_line(void **state)
{
    (void)state;
    waiting_forget(&core, &job);
    job.kind = JOB_KIND_SLEEP;
    has_task(PLACE_NONE);
    act(false, false);
}

static void an_array_waits_while_something_of_it_does(void **state)
{
    (void)state;
    job.array = array_new(2);
    job.elements = elements_new(job.array);
    assert_non_null(job.elements);
    job.array->rest = 2;
    act(true, false);
    job.array->rest = 0;
    job.elements->nwaiting = 1;
    act(true, false);
    job.elements->nwaiting = 0;
    act(false, false);
    elements_free(job.elements);
    array_free(job.array);
}

static uint64_t boot_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void time_is_the_same_throughout_a_section(void **state)
{
    uint64_t now = 0, earlier;

    (void)state;
    for (int i = 0; i < 3; i++) {
        core_lock(&core);
        const uint64_t before = boot_usec();
        earlier = now;
        now = waiting_now(&core);
        assert_in_range(now, before, boot_usec());
        while (boot_usec() <= now + 1)
            ;
        assert_int_equal(waiting_now(&core), now);
        assert_true(now > earlier);
        core_unlock(&core);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_queued_job_waits_in_the_line),
        T(what_has_a_condition_is_not_in_the_line),
        T(what_starts_early_keeps_its_place),
        T(what_stops_wants_no_slot),
        T(an_ended_job_is_retired_when_its_task_has_gone),
        T(what_takes_no_slot_waits_in_no_line),
        T(an_array_waits_while_something_of_it_does),
        T(time_is_the_same_throughout_a_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

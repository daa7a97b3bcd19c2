/* Holding and releasing one job in each state that it may be in, also without memory for
 * the fact; and what has to start by a date. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/doom.h"
#include "daemon/admit/timed.h"
#include "daemon/core/conditions.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/dooms.h"
#include "daemon/dispatch/grant.h"
#include "daemon/dispatch/holding.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"
#include "tests/support/unwell.h"

static struct core core;
static struct store *memory;
static struct job job;
static struct work work;
static struct tx tx;
static const struct hold user = {1000, false}, admin = {0, true};

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s, (void)facts, (void)n, (void)commit;
    return -ENOMEM;
}

static const struct store_log_ops refusing_log = {.append = append,
                                                  .health = unwell_health};
static struct store refusing = {.log = &refusing_log};

static int setup(void **state)
{
    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 1);
    struct user *u = users_get(&core.users, 1000);
    assert_non_null(u);
    users_add(&core.users, u, 1, 0);
    core.counts.by_state[JOB_QUEUED] = 1;
    job = (struct job){.id = 7, .kind = JOB_KIND_EXEC, .owner = {.uid = 1000}};
    job.status.submitted_usec = 1;
    work = (struct work){.core = &core, .job = &job, .offset = NO_OFFSET};
    tx_init(&tx, &core);
    assert_int_equal(waiting_assign(&core, &job, NULL), 0);
    waiting_enter(&core, &job);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    waiting_forget(&core, &job);
    store_free(memory);
    bare_core_fini(&core);
    return 0;
}

static bool is_in_line(void)
{
    return job.waiter.state == WAITER_LINE;
}

static void starts_early(void)
{
    job.live = &work;
    job.tasks = 1;
    job.status.state = JOB_STARTING;
    job.status.attempt = 1;
    core.counts.by_state[JOB_QUEUED] = 0;
    core.counts.by_state[JOB_STARTING] = 1;
    work.kept_starting = true;
    grant_set_early(&core, &work, true);
}

static void one_that_waits(void **state)
{
    (void)state;
    assert_int_equal(holding_release(&tx, &job, 1000, false), -ESRCH);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_false(is_in_line());
    assert_int_equal(job.status.held, JOB_HELD_BY_USER);
    assert_int_equal(holding_job(&tx, &job, &admin, false), 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_int_equal(job.status.held, JOB_HELD_BY_ADMIN);
    assert_int_equal(holding_release(&tx, &job, 1000, false), -EPERM);
    assert_false(is_in_line());
    assert_int_equal(holding_release(&tx, &job, 0, true), 0);
    assert_true(is_in_line());
    assert_int_equal(job.status.held, JOB_HELD_NO);
}

static void one_that_has_not_used_its_slot(void **state)
{
    (void)state;
    job.live = &work;
    job.tasks = 1;
    grant_take(&core, &work);
    assert_int_equal(admission_count(core.parts.admit).used, 1);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_false(work_has_slot(&work) || is_in_line());
    assert_int_equal(admission_count(core.parts.admit).used, 0);
    assert_int_equal(holding_release(&tx, &job, 1000, false), 0);
    assert_true(is_in_line());
}

static void one_that_starts_early(void **state)
{
    (void)state;
    starts_early();
    assert_int_equal(holding_job(&tx, &job, &user, false), -EAGAIN);
    assert_false(is_in_line());
    assert_int_equal(job.status.held, JOB_HELD_NO);
    assert_int_equal(holding_job(&tx, &job, &user, true), -EAGAIN);
    assert_true(early_defer(&tx, &work)); /* by its task */
    assert_int_equal(job.status.state, JOB_QUEUED);
    assert_int_equal(job.status.held, JOB_HELD_BY_USER);
    assert_int_equal(holding_job(&tx, &job, &user, true), 0);
    assert_false(is_in_line() || work_is_early(&work));
}

static void one_that_runs_or_has_ended(void **state)
{
    (void)state;
    starts_early();
    grant_take(&core, &work);
    assert_int_equal(holding_job(&tx, &job, &user, false), -EBUSY);
    job.status.state = JOB_RUNNING;
    assert_int_equal(holding_job(&tx, &job, &user, false), -EBUSY);
    grant_end(&core, &work, 0);
    job.status.state = JOB_DONE;
    assert_int_equal(holding_job(&tx, &job, &user, false), -EALREADY);
    assert_int_equal(holding_release(&tx, &job, 1000, false), -EALREADY);
}

static void without_its_fact_nothing_is_held_or_released(void **state)
{
    (void)state;
    core.parts.store = &refusing;
    assert_int_equal(holding_job(&tx, &job, &user, false), -ENOMEM);
    assert_true(is_in_line());
    core.parts.store = memory;
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    core.parts.store = &refusing;
    assert_int_equal(holding_job(&tx, &job, &admin, false),
                     -ENOMEM); /* the user's stays */
    assert_int_equal(job.status.held, JOB_HELD_BY_USER);
    assert_false(is_in_line());
    assert_int_equal(holding_release(&tx, &job, 1000, false), -ENOMEM);
    assert_int_equal(job.status.held, JOB_HELD_BY_USER);
    assert_false(is_in_line());
    core.parts.store = memory;
}

static void a_full_store_takes_releases_only(void **state)
{
    (void)state;
    unwell_put(memory);
    unwell.full = true;
    assert_int_equal(holding_job(&tx, &job, &user, false), -ENOSPC);
    unwell.failing = true;
    assert_int_equal(holding_job(&tx, &job, &user, false), -EIO);
    assert_true(is_in_line());
    unwell = (struct store_health){.full = false};
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    unwell.full = true;
    assert_int_equal(holding_job(&tx, &job, &admin, false), -ENOSPC);
    assert_int_equal(job.status.held, JOB_HELD_BY_USER);
    assert_int_equal(holding_release(&tx, &job, 1000, false), 0);
    assert_true(is_in_line());
}

static void hold_so_often(void)
{
    for (int i = 0; i < JOB_HOLDS_MAX; i++) {
        assert_int_equal(holding_job(&tx, &job, &user, false), 0);
        assert_int_equal(holding_release(&tx, &job, 1000, false), 0);
    }
}

/* What is held already is taken all the same, and admins hold what they want. */
static void a_job_is_held_so_often_at_most(void **state)
{
    (void)state;
    hold_so_often();
    assert_int_equal(holding_job(&tx, &job, &user, false), -EDQUOT);
    assert_true(is_in_line());
    for (int i = 0; i < 2; i++) {
        assert_int_equal(holding_job(&tx, &job, &admin, false), 0);
        assert_int_equal(holding_job(&tx, &job, &user, false), 0);
        assert_int_equal(job.status.held, JOB_HELD_BY_ADMIN);
        assert_int_equal(holding_release(&tx, &job, 0, true), 0);
    }
    assert_int_equal(job.status.holds, JOB_HOLDS_MAX);
    starts_early();
    assert_int_equal(holding_job(&tx, &job, &user, false), -EDQUOT);
    assert_true(is_in_line());
}

static void holds_of_admins_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(holding_job(&tx, &job, &admin, false), 0);
    assert_int_equal(holding_release(&tx, &job, 0, true), 0);
    assert_int_equal(job.status.holds, 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_int_equal(job.status.holds, 1);
}

/* That it has been tried changes nothing. */
static void the_last_hold_is_one(void **state)
{
    const struct job_event failed = {
        .type = JOB_EV_EXITED, .result = JOB_RESULT_EXIT, .again = true};

    (void)state;
    hold_so_often();
    job.status.holds--;
    job.status.state = JOB_STARTING;
    assert_int_equal(job_update(&job.status, &failed), 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_int_equal(holding_release(&tx, &job, 1000, false), 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), -EDQUOT);
}

static void an_array_is_held_so_often_at_most(void **state)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT, .at_usec = 1};
    struct array *array = array_new(3);
    struct array_effects fx;

    (void)state;
    assert_non_null(array);
    assert_int_equal(array_update(array, ARRAY_WHOLE, &submit, &fx), 0);
    job.array = array;
    job.elements = elements_new(array);
    assert_non_null(job.elements);
    array->holds = JOB_HOLDS_MAX;
    assert_int_equal(holding_job(&tx, &job, &user, false), -EDQUOT);
    array->holds--;
    assert_int_equal(holding_job(&tx, &job, &user, false), 0);
    assert_int_equal(array->holds, JOB_HOLDS_MAX);
    assert_int_equal(holding_release(&tx, &job, 1000, false), 0);
    assert_int_equal(holding_job(&tx, &job, &user, false), -EDQUOT);
    waiting_forget(&core, &job);
    elements_free(job.elements);
    array_free(array);
    job.elements = NULL;
    job.array = NULL;
}

/* It was asked for before: the store is asked when that is kept. */
static void an_early_start_is_called_off_though_the_store_is_full_meanwhile(void **state)
{
    (void)state;
    unwell_put(memory);
    starts_early();
    assert_int_equal(holding_job(&tx, &job, &user, false), -EAGAIN);
    unwell.full = true;
    assert_int_equal(holding_job(&tx, &job, &user, true), -EAGAIN);
}

/* --- what has to start by a date ---------------------------------------------------- */

static void set_late(void)
{
    const struct admission_times now = {waiting_now(&core), jobs_now_usec()};

    assert_int_equal(doom_start_by(core.parts.admit, &job.waiter, 1), 0);
    assert_true(admission_tick(core.parts.admit, &now, 64));
    assert_int_equal(dooms_run(&tx), 0);
    assert_null(doom_first(core.parts.admit));
}

static void late_in_the_queue(void **state)
{
    (void)state;
    set_late();
    assert_int_equal(job.status.state, JOB_DONE);
    assert_int_equal(job.status.result, JOB_RESULT_EXPIRED);
    assert_true(job.retired);
    list_remove(&core.ended, &job.node);
    memset(&job.waiter, 0, sizeof(job.waiter));
}

static void late_while_it_starts_it_is_looked_at_again(void **state)
{
    (void)state;
    starts_early();
    set_late();
    assert_int_equal(job.status.state, JOB_STARTING);
    assert_true(admission_tick_at(core.parts.admit).realtime > jobs_now_usec());
    assert_true(admission_tick_at(core.parts.admit).realtime < jobs_now_usec() + 1000000);
}

/* Also between two attempts. */
static void late_after_its_start_it_is_not(void **state)
{
    static const struct job_status begun[] = {
        {.state = JOB_RUNNING, .started_usec = 1},
        {.state = JOB_STOPPING},
        {.state = JOB_QUEUED, .last = JOB_RESULT_LOST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        const struct job_status before = job.status;

        job.status = begun[i];
        job.status.submitted_usec = job.status.attempt = 1;
        set_late();
        assert_int_equal(job.status.state, begun[i].state);
        assert_true(admission_tick_at(core.parts.admit).realtime == TIMED_NEVER);
        job.status = before;
    }
}

static void late_in_an_array_that_has_started_it_is_not(void **state)
{
    (void)state;
    job.array = array_new(2);
    job.elements = elements_new(job.array);
    assert_non_null(job.elements);
    job.array->rest = job.array->by_state[JOB_QUEUED] = job.array->by_state[JOB_RUNNING] =
        1;
    job.array->submitted_usec = 1;
    job.array->has_begun = true;
    set_late();
    assert_true(admission_tick_at(core.parts.admit).realtime == TIMED_NEVER);
    assert_int_equal(array_state(job.array), JOB_RUNNING);
    waiting_forget(&core, &job);
    elements_free(job.elements);
    array_free(job.array);
    job.elements = NULL;
    job.array = NULL;
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(one_that_waits),
        T(one_that_has_not_used_its_slot),
        T(one_that_starts_early),
        T(one_that_runs_or_has_ended),
        T(without_its_fact_nothing_is_held_or_released),
        T(a_full_store_takes_releases_only),
        T(a_job_is_held_so_often_at_most),
        T(holds_of_admins_do_not_count),
        T(the_last_hold_is_one),
        T(an_array_is_held_so_often_at_most),
        T(an_early_start_is_called_off_though_the_store_is_full_meanwhile),
        T(late_in_the_queue),
        T(late_while_it_starts_it_is_looked_at_again),
        T(late_after_its_start_it_is_not),
        T(late_in_an_array_that_has_started_it_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

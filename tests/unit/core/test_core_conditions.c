/* Conditions of live jobs: holds and times, before and after a restart. What they are in
 * admission is in test_conditions.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "daemon/core/conditions.h"
#include "daemon/core/state.h"
#include "daemon/query/why.h"
#include "tests/support/bare_core.h"

static struct core core;
static struct job job;
static struct job_spec *spec;

static int setup(void **state)
{
    (void)state;
    bare_core_init(&core, NULL, NULL, 1);
    spec = job_spec_new();
    job = (struct job){.id = 7, .kind = JOB_KIND_NOOP, .spec = spec, .conditioned = true};
    return spec ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    waiting_forget(&core, &job);
    job_spec_unref(spec);
    bare_core_fini(&core);
    return 0;
}

static void begin(void)
{
    struct volt_error err;

    assert_int_equal(core_wait_for(&core, &job, &err), 0);
}

static void what_has_none_is_no_waiter(void **state)
{
    (void)state;
    begin();
    assert_int_equal(job.waiter.state, WAITER_NONE);
    assert_false(conditions_any(&job));
    assert_int_equal(conditions_wait(&job), JOB_WAIT_NONE);
}

static void what_is_none_is_one_when_it_is_held(void **state)
{
    (void)state;
    begin();
    assert_int_equal(conditions_hold(&core, &job, &(struct hold){.by = 1000}), 0);
    assert_true(conditions_is_held(&job));
    assert_int_equal(conditions_wait(&job), JOB_WAIT_HOLD);
}

static void a_hold_is_the_reason_before_a_time(void **state)
{
    (void)state;
    spec->at_usec = jobs_now_usec() + 1000000000;
    spec->hold = true;
    begin();
    assert_true(conditions_any(&job) && conditions_is_held(&job));
    assert_int_equal(conditions_wait(&job), JOB_WAIT_HOLD);
    waiting_enter(&core, &job);
    conditions_release(&core, &job);
    assert_false(conditions_is_held(&job));
    assert_int_equal(conditions_wait(&job), JOB_WAIT_TIME);
    assert_int_equal(admission_tick_at(core.parts.admit).realtime, spec->at_usec);
}

/* Its spec says no more than what it was at first. */
static void a_restart_goes_by_the_facts(void **state)
{
    struct hold hold;

    (void)state;
    spec->hold = true;
    spec->delay_usec = 1000000000;
    job.recovered = true;
    job.status.submitted_usec = jobs_now_usec();
    begin();
    assert_false(conditions_is_held(&job));
    assert_true(admission_tick_at(core.parts.admit).boottime != TIMED_NEVER);
    waiting_forget(&core, &job);
    job.status.held = JOB_HELD_BY_ADMIN;
    begin();
    assert_true(condition_hold_of(&job.waiter, &hold) && hold.by_admin);
    waiting_forget(&core, &job);
    job.status.state = JOB_DONE;
    begin();
    assert_int_equal(job.waiter.state, WAITER_NONE);
}

/* What is left of a back-off; an array has none, as each element rests by itself. */
static void a_back_off_goes_on(void **state)
{
    const uint64_t day = UINT64_C(86400000000), now = jobs_now_usec();
    struct array *array = array_new_counts(1);

    (void)state;
    job.recovered = true;
    job.conditioned = false;
    job.status = (struct job_status){.submitted_usec = 1,
                                     .attempt = 1,
                                     .last = JOB_RESULT_EXIT,
                                     .again = {now - 3 * day, now - day, 3 * day}};
    begin();
    assert_int_equal(conditions_wait(&job), JOB_WAIT_TIME);
    const uint64_t left = conditions_time_left(&core, &job);
    assert_true(left <= 2 * day && left > day);
    waiting_forget(&core, &job);
    job.status.again.wait_usec = day / 2;
    begin();
    assert_int_equal(job.waiter.state, WAITER_NONE);
    job.status.again.wait_usec = 3 * day;
    job.array = array;
    array->total = array->by_state[JOB_QUEUED] = 1;
    begin();
    assert_int_equal(job.waiter.state, WAITER_NONE);
    job.array = NULL;
    array_free(array);
}

/* By its task, where there is no memory for a condition. */
static void a_job_that_backs_off_by_its_task_says_why(void **state)
{
    const struct asker owner = auth_user(7);
    struct work work = {.job = &job, .offset = NO_OFFSET};
    struct user *user = users_get(&core.users, owner.who.uid);
    struct array *array = array_new_counts(1);
    struct why why;

    (void)state;
    assert_non_null(user);
    job.owner = owner.who;
    assert_int_equal(table_put(&core.table, job.id, &job), 0);
    job.live = &work;
    begin();
    work.rests_until_usec = waiting_now(&core) + 60000000;
    assert_int_equal(waiting_rest_of(&core, &job, NO_OFFSET), 0);
    work.place = PLACE_RESTS;
    assert_int_equal(waiting_rest_of(&core, &job, NO_OFFSET), 60000000);
    assert_int_equal(query_why(&core, &owner, job.id, JOB_NO_INDEX, NULL, &why), 0);
    assert_int_equal(why.n, 1);
    assert_int_equal(why.reason[0].wait, JOB_WAIT_TIME);
    job.array = array;
    assert_int_equal(waiting_rest_of(&core, &job, NO_OFFSET), 0);
    job.array = NULL;
    array_free(array);
    table_remove(&core.table, job.id);
}

/* Neither beyond the delay, where the dates were set back, nor below nothing. */
static void a_delay_counts_from_the_submission(void **state)
{
    const uint64_t day = UINT64_C(86400000000), now = jobs_now_usec();
    static const struct {
        int64_t submitted; /* days ago */
        uint64_t least, most;
    } cases[] = {{0, 99, 100}, {60, 39, 40}, {100, 0, 0}, {200, 0, 0}, {-5, 100, 100}};

    (void)state;
    spec->delay_usec = 100 * day;
    begin();
    assert_true(admission_tick_at(core.parts.admit).boottime == TIMED_NEVER);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        job.status.submitted_usec = now - (uint64_t)(cases[i].submitted * (int64_t)day);
        core_wait_begins(&core, &job, spec);
        const uint64_t left =
            admission_tick_at(core.parts.admit).boottime - waiting_now(&core);

        assert_true(left >= cases[i].least * day && left <= cases[i].most * day);
    }
}

/* After a restart: one that has started once, and was lost, begins again at once. */
static void what_has_started_has_no_times(void **state)
{
    (void)state;
    spec->delay_usec = 1000000000;
    spec->at_usec = jobs_now_usec() + 1000000000;
    job.status.attempt = 1;
    begin();
    assert_false(conditions_any(&job));
    job.status.attempt = 0;
    job.array = array_new(3);
    job.elements = elements_new(job.array);
    assert_non_null(job.elements);
    job.array->total = 3;
    job.array->by_state[JOB_RUNNING] = 1;
    begin();
    assert_false(conditions_any(&job));
    job.array->by_state[JOB_RUNNING] = 0;
    job.array->has_begun = true;
    begin();
    assert_false(conditions_any(&job));
    job.array->has_begun = false;
    job.array->by_state[JOB_DONE] = job.array->by_result[JOB_RESULT_CANCELLED] = 1;
    begin();
    assert_true(conditions_any(&job));
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
        T(what_has_none_is_no_waiter),
        T(what_is_none_is_one_when_it_is_held),
        T(a_hold_is_the_reason_before_a_time),
        T(a_restart_goes_by_the_facts),
        T(a_delay_counts_from_the_submission),
        T(what_has_started_has_no_times),
        T(a_back_off_goes_on),
        T(a_job_that_backs_off_by_its_task_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

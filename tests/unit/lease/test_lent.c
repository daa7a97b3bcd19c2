/* Slots that are lent: by which jobs, to which, and how they come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/dispatch/state.h"
#include "daemon/job/array.h"
#include "daemon/lease/lending.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { UID = 1000, JOBS = 4 };

static struct core core;
static struct job job[JOBS];
static struct work work[JOBS];
static struct lending call[2];

/* All want a slot, and there is one. */
static int setup(void **state)
{
    struct store *store = store_memory_new();

    (void)state;
    assert_non_null(store);
    bare_core_init(&core, NULL, store, 1);
    core.dispatcher.on = true;
    assert_non_null(users_get(&core.users, UID));
    memset(call, 0, sizeof(call));
    for (size_t i = 0; i < JOBS; i++) {
        job[i] = (struct job){
            .id = i + 1, .kind = JOB_KIND_EXEC, .owner = {.uid = UID}, .live = &work[i]};
        work[i] = (struct work){.core = &core, .job = &job[i], .offset = NO_OFFSET};
        assert_int_equal(table_put(&core.table, job[i].id, &job[i]), 0);
        assert_int_equal(waiting_assign(&core, &job[i], NULL), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++)
        table_remove(&core.table, job[i].id);
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

static void run(void)
{
    struct tx tx;

    core_begin(&tx, &core);
    dispatch_finish(&tx);
}

static void enter(size_t i)
{
    waiting_enter(&core, &job[i]);
    run();
}

/* It has its slot, and its process has begun. */
static void starts(size_t i)
{
    assert_true(work_has_slot(&work[i]));
    job[i].status.state = JOB_RUNNING;
}

static void ends(size_t i)
{
    struct tx tx;

    core_begin(&tx, &core);
    grant_end(&core, &work[i], 1);
    job[i].status.state = JOB_DONE;
    dispatch_finish(&tx);
}

static void begin_as(uid_t uid, int n, uint64_t id, int64_t index)
{
    lending_begin(&core, uid, &(struct job_key){.id = id, .index = index}, &call[n]);
}

static void begin(int n, uint64_t id)
{
    begin_as(UID, n, id, JOB_NO_INDEX);
}

static void end(int n)
{
    lending_end(&core, &call[n]);
}

static void check(uint32_t used, uint32_t lent, uint64_t over)
{
    assert_int_equal(admission_count(core.parts.admit).used, used);
    assert_int_equal(core.counts.slots_lent, lent);
    assert_int_equal(core.counts.slots_over, over);
}

static void the_next_one_runs_while_a_job_waits(void **state)
{
    (void)state;
    enter(0);
    starts(0);
    enter(1);
    check(1, 0, 0);
    begin(0, 1);
    assert_true(work[0].lends);
    starts(1);
    check(1, 1, 0);
    begin(0, 1); /* as it does already */
    check(1, 1, 0);
    ends(1);
    check(0, 1, 0);
    end(0);
    check(1, 0, 0);
    assert_false(work[0].lends);
    end(0);
    check(1, 0, 0);
    ends(0);
    check(0, 0, 0);
}

static void it_has_its_slot_back_beyond_their_number(void **state)
{
    (void)state;
    enter(0);
    starts(0);
    enter(1);
    enter(2);
    begin(0, 1);
    starts(1);
    end(0);
    check(2, 0, 1);
    ends(1);
    check(1, 0, 1);
    assert_false(work_has_slot(&work[2]));
    ends(0);
    assert_true(work_has_slot(&work[2]));
}

static void two_jobs_that_wait_for_two(void **state)
{
    (void)state;
    admission_resize(core.parts.admit, 2);
    enter(0);
    enter(1);
    starts(0);
    starts(1);
    enter(2);
    enter(3);
    begin(0, 1);
    begin(1, 2);
    starts(2);
    starts(3);
    check(2, 2, 0);
    ends(2);
    end(0);
    ends(3);
    end(1);
    check(2, 0, 0); /* one was free each time */
}

static void it_lends_until_the_last_call_ends(void **state)
{
    (void)state;
    enter(0);
    starts(0);
    begin(0, 1);
    begin(1, 1);
    check(0, 1, 0);
    end(0);
    check(0, 1, 0);
    end(1);
    check(1, 0, 0);
}

static void what_is_not_believed(void **state)
{
    (void)state;
    enter(0);
    enter(1);
    begin(0, 1); /* it has not begun */
    check(1, 0, 0);
    end(0);
    starts(0);
    begin(0, 2); /* it has no slot, and is queued */
    check(1, 0, 0);
    end(0);
    begin_as(UID + 1, 0, 1, JOB_NO_INDEX);
    check(1, 0, 0);
    end(0);
    begin_as(UID, 0, 1, 0); /* no array */
    begin(1, 0);
    begin(1, 99);
    check(1, 0, 0);
    end(0);
    end(1);
    job[0].kind = JOB_KIND_SLEEP;
    begin(0, 1);
    check(1, 0, 0);
    end(0);
    job[0].kind = JOB_KIND_EXEC;
    job[0].live = NULL; /* its task has gone */
    begin(0, 1);
    check(1, 0, 0);
    end(0);
    job[0].live = &work[0];
    job[0].status.state = JOB_DONE;
    begin(0, 1);
    check(1, 0, 0);
    end(0);
    job[0].status.state = JOB_STOPPING;
    begin(0, 1);
    check(1, 1, 0); /* the next has it */
    starts(1);
    end(0);
}

/* Whoever says that it is inside of it. */
static void what_has_no_slot_lends_none(void **state)
{
    (void)state;
    enter(0);
    starts(0);
    enter(1);
    grant_set_early(&core, &work[1], true);
    job[1].status.state = JOB_STARTING;
    begin(0, 2);
    assert_null(call[0].work);
    ends(0);
    assert_true(work_has_slot(&work[1]) && !work[1].lends);
    end(0);
    check(1, 0, 0);
}

/* A call may outlive the job that it says. */
static void the_end_of_the_job_ends_it(void **state)
{
    (void)state;
    enter(0);
    starts(0);
    begin(0, 1);
    begin(1, 1);
    enter(1);
    starts(1);
    ends(0);
    check(1, 0, 0);
    assert_null(call[0].work);
    assert_null(call[1].work);
    end(0);
    check(1, 0, 0);
    job[0].status = (struct job_status){.state = JOB_QUEUED}; /* another attempt */
    enter(0);
    ends(1);
    starts(0);
    check(1, 0, 0);
    begin(0, 1);
    check(0, 1, 0);
    end(1); /* of the attempt before */
    check(0, 1, 0);
    end(0);
    check(1, 0, 0);
}

static void a_slot_that_goes_back_unused_is_not_lent(void **state)
{
    (void)state;
    enter(0);
    job[0].status.state = JOB_STARTING;
    begin(0, 1);
    check(0, 1, 0);
    grant_return(&core, &work[0]);
    check(0, 0, 0);
    run();
    check(1, 0, 0);
    assert_true(work_has_slot(&work[0]) && !work[0].lends);
    end(0);
    check(1, 0, 0);
}

static void make_array(struct job *j)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT, .at_usec = 1};
    struct array_effects fx;

    waiting_forget(&core, j);
    j->spec = job_spec_new();
    j->spec->is_array = true;
    j->spec->array_first = 5;
    j->spec->array_last = 6;
    j->array = array_new(2);
    j->elements = elements_new(j->array);
    j->live = NULL;
    assert_int_equal(array_update(j->array, ARRAY_WHOLE, &submit, &fx), 0);
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    for (int64_t i = 0; i < 2; i++) {
        assert_int_equal(array_reserve(j->array, i), 0);
        assert_int_equal(elements_reserve(j->elements, i), 0);
        assert_int_equal(array_update(j->array, i, &submit, &fx), 0);
        work[i] = (struct work){.core = &core, .job = j, .offset = i};
        elements_set(j->elements, i, &work[i]);
        grant_wait(&core, &work[i]);
    }
}

static void an_element_lends(void **state)
{
    struct array_effects fx;

    (void)state;
    make_array(&job[0]);
    run();
    assert_true(work_has_slot(&work[0]));
    const struct job_status queued = jobs_any_status(&job[0], 0);
    const struct job_event starting = job_starting(&queued, 1);
    begin_as(UID, 0, 1, 5); /* it has not begun */
    check(1, 0, 0);
    end(0);
    assert_int_equal(array_update(job[0].array, 0, &starting, &fx), 0);
    begin(0, 1); /* the array does not */
    check(1, 0, 0);
    end(0);
    begin_as(UID, 0, 1, 7);
    begin_as(UID, 1, 1, 0);
    check(1, 0, 0);
    end(0);
    end(1);
    begin_as(UID, 0, 1, 5);
    assert_true(work[0].lends);
    check(1, 1, 0);
    assert_true(work_has_slot(&work[1]));
    end(0);
    check(2, 0, 1);
    for (int64_t i = 0; i < 2; i++) {
        grant_end(&core, &work[i], 1);
        elements_set(job[0].elements, i, NULL);
    }
    waiting_forget(&core, &job[0]);
    array_free(job[0].array);
    elements_free(job[0].elements);
    job_spec_unref(job[0].spec);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(the_next_one_runs_while_a_job_waits),
        T(it_has_its_slot_back_beyond_their_number),
        T(two_jobs_that_wait_for_two),
        T(it_lends_until_the_last_call_ends),
        T(what_is_not_believed),
        T(what_has_no_slot_lends_none),
        T(the_end_of_the_job_ends_it),
        T(a_slot_that_goes_back_unused_is_not_lent),
        T(an_element_lends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The dispatcher, on a core without tasks: the order of the agenda, what leaves it, and
 * portions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/explain.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/named.h"
#include "daemon/core/cancel.h"
#include "daemon/dispatch/dispatcher.h"
#include "daemon/dispatch/state.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

#define JOBS   (2 * JOBS_SLICE + 10)
#define SECOND UINT64_C(1000000)

static struct core core;
static struct job job[JOBS];
static struct work work[JOBS];

static int setup(void **state)
{
    struct store *store = store_memory_new();

    (void)state;
    assert_non_null(store);
    bare_core_init(&core, NULL, store, 0);
    core.limits.keep_ended_jobs = JOBS;
    core.dispatcher.on = true;
    assert_non_null(users_get(&core.users, 0));
    for (size_t i = 0; i < JOBS; i++) {
        job[i] = (struct job){.id = i + 1, .kind = JOB_KIND_EXEC};
        job[i].status.submitted_usec = 1;
        assert_int_equal(waiting_assign(&core, &job[i], NULL), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

static bool is_done(void)
{
    return core_is_settled(&core);
}

static void run(void)
{
    struct tx tx;

    tx_init(&tx, &core);
    core.held = (struct quota){0};
    dispatcher_run(&tx);
    assert_int_equal(tx.nspawn, 0);
    assert_true(is_done());
}

static void check_list(size_t n, const size_t *want)
{
    const struct job *at = core.agenda.first;

    for (size_t i = 0; i < n; i++, at = at->next)
        assert_ptr_equal(at, &job[want[i]]);
    assert_null(at);
}

/* Each job is in it once, and where it was. */
static void jobs_come_and_go(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++)
        agenda_add(&core, &job[i]);
    agenda_add(&core, &job[1]);
    check_list(4, (const size_t[]){0, 1, 2, 3});
    agenda_remove(&core, &job[3]);
    assert_false(job[3].due);
    agenda_add(&core, &job[4]);
    check_list(4, (const size_t[]){0, 1, 2, 4});
    agenda_remove(&core, &job[1]);
    agenda_remove(&core, &job[0]);
    agenda_remove(&core, &job[0]); /* is not in it */
    check_list(2, (const size_t[]){2, 4});
    agenda_remove(&core, &job[4]);
    agenda_remove(&core, &job[2]);
    check_list(0, NULL);
    agenda_add(&core, &job[5]);
    check_list(1, (const size_t[]){5});
    agenda_remove(&core, &job[5]);
}

/* So many a hold of the lock; the rest is for the task, and so are the slots. */
static void many_are_cancelled_in_portions(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        waiting_enter(&core, &job[i]);
        agenda_add(&core, &job[i]);
    }
    assert_false(is_done());
    for (size_t done = 0; done < JOBS;) {
        core.dispatcher.more = false;
        run();
        done = done + JOBS_SLICE < JOBS ? done + JOBS_SLICE : JOBS;
        assert_int_equal(waiting_count(&core), JOBS - done);
        assert_int_equal(core.held.entries, (done - 1) % JOBS_SLICE + 1);
        assert_int_equal(core.dispatcher.more, done < JOBS);
        assert_int_equal(job[done - 1].status.state, JOB_DONE);
    }
}

/* The works of these jobs are there already, as if they had been deferred. */
static void wait_with_works(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        work[i] = (struct work){.core = &core, .job = &job[i], .offset = NO_OFFSET};
        job[i].live = &work[i];
        waiting_enter(&core, &job[i]);
    }
}

/* The latest barrier of ended jobs is done, as the task of the dispatcher notes it. */
static void barrier_is_done(void)
{
    core.dispatcher.barrier_done = ++core.dispatcher.barriers;
    core.dispatcher.ends_wait = core.dispatcher.more = false;
}

/* Not before its end is durable: a question would find it nowhere. Then nothing more is
 * to happen: no later run would find too many. */
static void what_ends_in_a_run_leaves_memory(void **state)
{
    const struct job_owner owner = {.uid = 0};
    struct tx tx;

    (void)state;
    core.limits.keep_ended_jobs = 1;
    for (uint64_t id = JOBS + 1; id <= JOBS + 3; id++) {
        struct job_spec *spec = job_spec_new();

        assert_non_null(spec);
        spec->kind = JOB_KIND_NOOP;
        struct job *j = job_new_bare(&core, spec, &owner, true, false);
        job_spec_unref(spec);
        assert_non_null(j);
        assert_int_equal(table_put(&core.table, id, j), 0);
        users_add(&core.users, users_get(&core.users, 0), 1, j->bytes);
        j->id = id;
        j->status.submitted_usec = 1;
        core.counts.by_state[JOB_QUEUED]++;
        index_enter(&core, j);
        agenda_add(&core, j);
    }
    tx_init(&tx, &core);
    dispatcher_run(&tx);
    assert_true(core.dispatcher.more && core.dispatcher.ends_wait);
    assert_int_equal(core.table.count, 3);
    core.dispatcher.barriers++; /* one that has begun, and is not done */
    core.dispatcher.ends_wait = core.dispatcher.more = false;
    dispatcher_run(&tx);
    assert_false(core.dispatcher.more || core.dispatcher.ends_wait);
    assert_int_equal(core.table.count, 3);
    core.dispatcher.barriers--;
    barrier_is_done();
    dispatcher_run(&tx);
    assert_false(core.dispatcher.more);
    assert_int_equal(core.table.count, 1);
    tx_carry_out(&tx);
}

static void slots_are_given_in_portions(void **state)
{
    (void)state;
    wait_with_works(JOBS);
    assert_true(is_done()); /* there is no slot */
    admission_resize(core.parts.admit, JOBS);
    assert_false(is_done());
    for (size_t given = 0; given < JOBS;) {
        core.dispatcher.more = false;
        run();
        given = given + JOBS_SLICE < JOBS ? given + JOBS_SLICE : JOBS;
        assert_true(work_has_slot(&work[given - 1]));
        assert_true(given == JOBS || !work_has_slot(&work[given]));
        assert_int_equal(core.dispatcher.more, given < JOBS);
    }
    assert_int_equal(waiting_count(&core), 0);
}

/* More facts wait for the disk than may: the task goes on when they are durable. */
static void what_is_ahead_of_the_disk_waits(void **state)
{
    (void)state;
    wait_with_works(3);
    agenda_add(&core, &job[2]);
    admission_resize(core.parts.admit, 1);
    core.dispatcher.facts = 4096;
    run();
    assert_true(core.dispatcher.more);
    assert_false(work_has_slot(&work[0]));
    check_list(1, (const size_t[]){2});
    core.dispatcher.facts = 4095;
    core.dispatcher.more = false;
    core_lock(&core);
    dispatch_finish(&(struct tx){.core = &core});
    assert_true(core.dispatcher.facts > 4095); /* those of the end of job 2 are counted */
    assert_int_equal(job[2].status.state, JOB_DONE);
}

/* More than one portion ends, though there are slots. */
static void what_is_late_gets_no_slot(void **state)
{
    const struct admission_times now = {0, SECOND};

    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(doom_start_by(core.parts.admit, &job[i].waiter, SECOND), 0);
        waiting_enter(&core, &job[i]);
    }
    assert_true(admission_tick(core.parts.admit, &now, JOBS));
    admission_resize(core.parts.admit, JOBS);
    do {
        core.dispatcher.more = false;
        run();
    } while (core.dispatcher.more);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(job[i].status.result, JOB_RESULT_EXPIRED);
}

/* The assertion that nothing that fits waits finds out nothing itself. */
static void what_has_not_been_looked_at_is_left_to_do(void **state)
{
    const struct named_ask name = {.owner = 0, .name = "l", .kind = &resource_rwlock};
    struct claim lock = {.amount = 1, .exclusive = true};
    const struct admission_ask ask = {.slot = true, .claims = &lock, .n = 1};

    (void)state;
    admission_resize(core.parts.admit, JOBS);
    assert_int_equal(named_get(core.parts.admit, &name, &lock.resource), 0);
    for (size_t i = 0; i < 2; i++) {
        waiting_forget(&core, &job[i]);
        assert_int_equal(
            admission_assign(core.parts.admit, &job[i].waiter, &ask, job[i].id), 0);
    }
    wait_with_works(2);
    grant_take(&core, &work[0]);
    assert_false(is_done());
    assert_false(is_done());
    run();
    assert_false(work_has_slot(&work[1]));
}

static void make_urgent(struct job *j)
{
    waiting_forget(&core, j);
    j->priority = 1;
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
}

/* Many wait for one job that has ended: what is in the line gets its slot meanwhile. */
static void slots_are_given_beside_edges(void **state)
{
    const size_t last = JOBS - 1;

    (void)state;
    for (size_t i = 0; i < last; i++)
        assert_int_equal(condition_after_add(core.parts.admit, &job[i].waiter, JOBS + 1,
                                             JOB_AFTER_ANY),
                         0);
    make_urgent(&job[last]);
    wait_with_works(JOBS);
    for (size_t i = 0; i < last; i++)
        condition_after_enter(core.parts.admit, &job[i].waiter);
    condition_after_ended(core.parts.admit, JOBS + 1, JOB_RESULT_SUCCESS);
    admission_resize(core.parts.admit, 1);
    run();
    assert_true(core.dispatcher.more && condition_after_is_due(core.parts.admit));
    assert_true(work_has_slot(&work[last]));
}

/* Where it waits it goes on waiting. */
static void give_to_user(struct job *j, uid_t uid)
{
    const bool waits = waiting_has_to(j);

    waiting_forget(&core, j);
    j->owner.uid = uid;
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    if (waits)
        waiting_enter(&core, j);
}

/* It stays in the line, where one that is more urgent passes it. */
static void an_early_start_waits_in_the_line(void **state)
{
    (void)state;
    wait_with_works(2);
    grant_set_early(&core, &work[0], true);
    assert_int_equal(waiting_count(&core), 2);
    assert_true(waiting_crowds(&core));
    grant_set_early(&core, &work[1], true);
    assert_false(waiting_crowds(&core)); /* nothing waits but what starts */
    make_urgent(&job[2]);
    waiting_enter(&core, &job[2]);
    job[2].live = &work[2];
    work[2] = (struct work){.core = &core, .job = &job[2], .offset = NO_OFFSET};
    admission_resize(core.parts.admit, 1);
    run();
    assert_true(work_has_slot(&work[2]) && !work_has_slot(&work[0]) &&
                !work_has_slot(&work[1]));
    admission_resize(core.parts.admit, 2);
    run();
    assert_true(work_has_slot(&work[0]) && !work_is_early(&work[0]) &&
                !work_has_slot(&work[1]));
    assert_int_equal(core.parts.dispatch->early.n, 1);
    grant_return(&core, &work[0]);
    run();
    assert_true(work_has_slot(&work[0]) && !work_has_slot(&work[1]));
    grant_leave(&core, &work[1]);
    assert_int_equal(core.parts.dispatch->early.n, 0);
    assert_int_equal(waiting_count(&core), 0);
}

/* An earlier voltd began it, and it turns out that it never ran. */
static void what_others_may_have_got_is_asked_for_again(void **state)
{
    (void)state;
    wait_with_works(2);
    admission_resize(core.parts.admit, 1);
    run();
    assert_true(work_has_slot(&work[0]));
    work[0].assumed = true;
    grant_ask_anew(&core, &work[0]);
    assert_true(!work_has_slot(&work[0]) && work_is_early(&work[0]));
    assert_false(work[0].assumed || work[0].spent); /* it claims nothing but the slot */
    run();
    assert_true(work_has_slot(&work[0]) && !work_has_slot(&work[1]));
}

/* All of its elements have their tasks. */
static void begin_array(struct job *j, uint64_t total, uint64_t at_once)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT};
    struct array_effects fx;

    waiting_forget(&core, j);
    j->spec = job_spec_new();
    j->spec->is_array = true;
    j->spec->array_last = total - 1;
    j->spec->at_once = at_once;
    j->array = array_new(total);
    j->elements = elements_new(j->array);
    assert_int_equal(array_update(j->array, ARRAY_WHOLE, &submit, &fx), 0);
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    for (uint64_t i = 0; i < total; i++) {
        assert_int_equal(array_reserve(j->array, (int64_t)i), 0);
        assert_int_equal(array_update(j->array, (int64_t)i, &submit, &fx), 0);
    }
}

static void make_array(struct job *j, uint64_t total, uint64_t at_once)
{
    begin_array(j, total, at_once);
    for (uint64_t i = 0; i < total; i++) {
        work[i] = (struct work){.core = &core, .job = j, .offset = (int64_t)i};
        grant_wait(&core, &work[i]);
    }
}

static void free_array(struct job *j)
{
    waiting_forget(&core, j);
    array_free(j->array);
    elements_free(j->elements);
    job_spec_unref(j->spec);
}

static size_t granted_of(size_t n)
{
    size_t granted = 0;

    for (size_t i = 0; i < n; i++)
        granted += work_has_slot(&work[i]);
    return granted;
}

/* As many elements of the array, which is in the line, run as may at once. */
static bool is_at_limit(struct core *in, const struct job *array)
{
    struct explain_brief brief;
    uint64_t place;

    return waiting_place(in, array, &place, &brief) && brief.kind == REASON_ARRAY;
}

/* It gets no more slots, and what is behind it in the line gets those that are free. */
static void an_array_has_as_many_at_once_as_it_may(void **state)
{
    (void)state;
    make_array(&job[0], 6, 3);
    work[6] = (struct work){.core = &core, .job = &job[1], .offset = NO_OFFSET};
    job[1].live = &work[6];
    waiting_enter(&core, &job[1]);
    core.parts.dispatch->early =
        (struct early_starts){.pace_usec = 100, .past = 3, .most = EARLY_MAX};
    admission_resize(core.parts.admit, 2);
    run();
    assert_int_equal(granted_of(6), 2);
    assert_false(is_at_limit(&core, &job[0]));
    assert_int_equal(job[0].elements->nearly, 0); /* one could come too many */
    admission_resize(core.parts.admit, 8);
    run();
    assert_int_equal(granted_of(6), 3);
    assert_true(is_at_limit(&core, &job[0]) && work_has_slot(&work[6]));
    assert_int_equal(waiting_count(&core), 1);
    grant_take(&core, &work[5]); /* an earlier voltd gave it the slot */
    grant_end(&core, &work[0], 1);
    run();
    assert_int_equal(granted_of(6), 3);
    grant_end(&core, &work[1], 1);
    grant_end(&core, &work[2], 1);
    run();
    assert_int_equal(granted_of(6), 3);
    assert_false(is_at_limit(&core, &job[0])); /* nothing of it waits */
    free_array(&job[0]);
}

static void as_many_start_early_as_the_configuration_says(void **state)
{
    (void)state;
    make_array(&job[0], 6, 0);
    for (uint32_t most = 0; most < 4; most++) {
        core.parts.dispatch->early.pace_usec = 100;
        core.parts.dispatch->early.past = 3;
        early_limit(&core, most);
        admission_resize(core.parts.admit, 1);
        run();
        assert_int_equal(granted_of(6), 1);
        assert_int_equal(core.parts.dispatch->early.n, most);
    }
    early_limit(&core, 1000);
    assert_int_equal(core.parts.dispatch->early.most, EARLY_MAX);
    free_array(&job[0]);
}

/* It needs no slot, and none of its elements is ready: it leaves the line. What is behind
 * it gets no slot for that. */
static void an_array_of_sleeps_leaves_the_line(void **state)
{
    (void)state;
    wait_with_works(2);
    admission_resize(core.parts.admit, 1);
    run();
    job[2].kind = JOB_KIND_SLEEP;
    job[2].priority = 1;
    begin_array(&job[2], 2, 0);
    waiting_enter(&core, &job[2]);
    make_urgent(&job[3]);
    work[3] = (struct work){.core = &core, .job = &job[3], .offset = NO_OFFSET};
    job[3].live = &work[3];
    waiting_enter(&core, &job[3]);
    run();
    assert_false(waiting_has_to(&job[2]));
    assert_true(waiting_has_to(&job[3]) && !work_has_slot(&work[3]));
    free_array(&job[2]);
}

static void put_into(struct job *j, struct job_queue *q)
{
    const struct admission_ask ask = {.slot = true, .queue = q};

    waiting_forget(&core, j);
    assert_int_equal(
        admission_assign(core.parts.admit, &j->waiter, &ask, WAITING_RANK(j->id)), 0);
}

static void jobs_of_two_queues_start_early(void **state)
{
    const struct queue_policy policy = {.weight = 1};
    struct job_queue *q = admission_add_queue(core.parts.admit, &policy);
    size_t early = 0;

    (void)state;
    assert_non_null(q);
    for (size_t i = 1; i < 6; i += 2)
        put_into(&job[i], q);
    wait_with_works(6);
    core.parts.dispatch->early.pace_usec = 100;
    core.parts.dispatch->early.past = 3;
    admission_resize(core.parts.admit, 2);
    run();
    assert_true(work_has_slot(&work[0]) && work_has_slot(&work[1]));
    for (size_t i = 2; i < 6; i++)
        early += work_is_early(&work[i]);
    assert_int_equal(early, 4);
}

/* What was cancelled in the moment of its grant teaches its user's account nothing: its
 * next job is expected to take as long as any. */
static void a_grant_that_was_not_used_is_no_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        give_to_user(&job[i], i < 2 ? 1 : 2);
    work[0] = (struct work){.core = &core, .job = &job[0], .offset = NO_OFFSET};
    admission_resize(core.parts.admit, 1);
    for (int i = 0; i < 30; i++) {
        grant_take(&core, &work[0]);
        grant_end(&core, &work[0], NEVER_RAN);
        assert_int_equal(admission_count(core.parts.admit).used, 0);
    }
    work[2] = (struct work){.core = &core, .job = &job[2], .offset = NO_OFFSET};
    grant_take(&core, &work[2]);
    grant_end(&core, &work[2], SECOND / 2);
    grant_take(&core, &work[0]);
    waiting_enter(&core, &job[1]);
    waiting_enter(&core, &job[2]);
    struct waiter *first;
    assert_int_equal(admission_peek(core.parts.admit, &first, 1), 1);
    assert_ptr_equal(first, &job[2].waiter); /* half a second is less than one */
}

/* The tasks of an earlier daemon come first. */
static void nothing_happens_before_it_begins(void **state)
{
    (void)state;
    core.dispatcher.on = false;
    agenda_add(&core, &job[0]);
    core_lock(&core); /* a question may be asked */
    core_unlock(&core);
    assert_int_equal(job[0].status.state, JOB_QUEUED);
    core.dispatcher.on = true;
    assert_false(is_done());
    run();
    assert_int_equal(job[0].status.state, JOB_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(many_are_cancelled_in_portions, setup, teardown),
        cmocka_unit_test_setup_teardown(what_ends_in_a_run_leaves_memory, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(slots_are_given_in_portions, setup, teardown),
        cmocka_unit_test_setup_teardown(slots_are_given_beside_edges, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_ahead_of_the_disk_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_late_gets_no_slot, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_not_been_looked_at_is_left_to_do, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_early_start_waits_in_the_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_others_may_have_got_is_asked_for_again,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_array_has_as_many_at_once_as_it_may, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(as_many_start_early_as_the_configuration_says,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_array_of_sleeps_leaves_the_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(jobs_of_two_queues_start_early, setup, teardown),
        cmocka_unit_test_setup_teardown(a_grant_that_was_not_used_is_no_end, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nothing_happens_before_it_begins, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

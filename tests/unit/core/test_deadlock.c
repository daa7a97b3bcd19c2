/* Jobs and leases that wait inside each other: which circles are found, and how they are
 * told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/job_queue.h"
#include "daemon/core/deadlock.h"
#include "daemon/dispatch/state.h"
#include "daemon/lease/lending.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { UID = 1000, JOBS = 50 };

static struct core core;
static struct job job[JOBS];
static struct work work[JOBS];
static struct inner_wait call[JOBS]; /* inside of the job of this number */
static struct lending lending[JOBS];
static uint64_t waits_for[JOBS][2];
static struct volt_error err;

static int setup(void **state)
{
    struct store *store = store_memory_new();

    (void)state;
    assert_non_null(store);
    bare_core_init(&core, NULL, store, JOBS);
    core.dispatcher.on = true;
    assert_non_null(users_get(&core.users, UID));
    memset(job, 0, sizeof(job));
    memset(call, 0, sizeof(call));
    memset(lending, 0, sizeof(lending));
    return 0;
}

/* What a job claims, by a letter each: a, b, ...: all of that lock; A, B, ...: two of the
 * three permits of that; 0, 1, ...: a part in lock a, b, ... */
static struct job_claim claim_of(char letter, char ret_name[2])
{
    const bool permits = letter >= 'A' && letter <= 'Z', shares = letter <= '9';

    ret_name[0] = shares ? (char)(letter - '0' + 'a') : letter;
    ret_name[1] = '\0';
    return (struct job_claim){.name = ret_name,
                              .mode = permits  ? JOB_CLAIM_PERMITS
                                      : shares ? JOB_CLAIM_SHARED
                                               : JOB_CLAIM_EXCLUSIVE,
                              .permits = permits ? 2 : 0,
                              .capacity = permits ? 3 : 0};
}

static int16_t priority; /* of the next job */

/* It has its slot and what it claims, or waits for that. */
static void begin_as(uid_t uid, uint64_t id, const char *names, uint64_t after)
{
    struct job_claim claims[4] = {{.name = NULL}};
    char text[4][2];
    struct job_spec spec = {.claims = claims, .nclaims = strlen(names)};
    struct job *j = &job[id];
    struct tx tx;

    for (size_t i = 0; i < spec.nclaims; i++)
        claims[i] = claim_of(names[i], text[i]);
    *j = (struct job){.id = id,
                      .kind = JOB_KIND_EXEC,
                      .spec = &spec,
                      .owner = {.uid = uid},
                      .claims = spec.nclaims > 0,
                      .priority = priority,
                      .live = &work[id]};
    work[id] = (struct work){.core = &core, .job = j, .offset = NO_OFFSET};
    assert_non_null(users_get(&core.users, uid));
    assert_int_equal(table_put(&core.table, id, j), 0);
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    j->spec = NULL;
    if (after)
        assert_int_equal(
            condition_after_add(core.parts.admit, &j->waiter, after, JOB_AFTER_ANY), 0);
    core_begin(&tx, &core);
    waiting_enter(&core, j);
    condition_after_enter(core.parts.admit, &j->waiter);
    dispatch_finish(&tx);
    if (work_has_slot(&work[id]))
        j->status.state = JOB_RUNNING;
}

static void begin(uint64_t id, const char *names)
{
    begin_as(UID, id, names, 0);
}

static bool runs(uint64_t id)
{
    return work_has_slot(&work[id]);
}

static void end(uint64_t id)
{
    struct tx tx;

    core_begin(&tx, &core);
    grant_end(&core, &work[id], 1);
    grant_release_locks(&core, &work[id]);
    job[id].status.state = JOB_DONE;
    job[id].live = NULL;
    dispatch_finish(&tx);
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < JOBS; i++) {
        lending_end_wait(&core, &call[i], &lending[i]);
        if (!job[i].id)
            continue;
        waiting_leave(&core, &job[i]);
        if (job[i].live)
            end(i);
        table_remove(&core.table, i);
    }
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

static struct job_key job_of_call(const void *arg, size_t i)
{
    const uint64_t *ids = arg;

    return (struct job_key){.id = ids[i], .index = JOB_NO_INDEX};
}

static int wait_for_both(uint64_t in_job, uint64_t in_lease, uint64_t id, uint64_t other)
{
    struct inner_wait *n = &call[in_job];

    waits_for[in_job][0] = id;
    waits_for[in_job][1] = other;
    *n = (struct inner_wait){.uid = UID,
                             .in_job = {.id = in_job, .index = JOB_NO_INDEX},
                             .in_lease = in_lease,
                             .job = job_of_call,
                             .arg = waits_for[in_job],
                             .n = other ? 2 : 1};
    return lending_begin_wait(&core, n, &lending[in_job], NULL, &err);
}

static int wait_for(uint64_t in_job, uint64_t id)
{
    return wait_for_both(in_job, 0, id, 0);
}

static void stop_waiting(uint64_t in_job)
{
    lending_end_wait(&core, &call[in_job], &lending[in_job]);
}

static void refused(int r, const char *text)
{
    assert_int_equal(r, -EDEADLK);
    assert_string_equal(err.text, text);
}

static struct lease *ask_in(uint64_t in_job, uint64_t in_lease, const char *name,
                            int expected)
{
    static uint64_t latest = 1000;
    const struct lease_ask ask = {
        .id = ++latest,
        .uid = UID,
        .claim = {.name = (char *)(uintptr_t)name, .permits = 1},
        .pid = 7,
        .command = "make",
        .in_job = {.id = in_job, .index = JOB_NO_INDEX},
        .in_lease = in_lease};
    struct lease *l = NULL;
    struct tx tx;

    core_begin(&tx, &core);
    const int r = leases_ask(&tx, &ask, true, &l, &err);
    dispatch_finish(&tx);
    assert_int_equal(r, expected);
    if (r == 0 && l->state == LEASE_GIVEN)
        leases_hold(&core, l);
    return l;
}

static void end_lease(struct lease *l)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_end(&tx, l);
    dispatch_finish(&tx);
}

static void for_a_job_that_wants_what_it_has(void **state)
{
    (void)state;
    begin(1, "xa");
    begin(2, "a");
    begin(3, "");
    assert_false(runs(2));
    assert_int_equal(wait_for(1, 3), 0);
    assert_true(work[1].lends);
    stop_waiting(1);
    assert_false(work[1].lends);
    refused(wait_for(1, 2),
            "it would wait for ever: job 2, which waits for lock a: job 1 "
            "has it, and waits for this");
    assert_false(work[1].lends || call[1].listed);
    refused(
        wait_for_both(1, 0, 3, 2),
        "it would wait for ever: job 2, which waits for lock a: job 1 has it, and waits "
        "for this");
    assert_int_equal(wait_for(3, 2), 0); /* which waits for job 1, which may go on */
    end(1);
    assert_true(runs(2));
}

static void for_itself(void **state)
{
    (void)state;
    begin(1, "");
    refused(wait_for(1, 1), "it would wait for ever: job 1, which waits for this");
}

static void for_each_other(void **state)
{
    (void)state;
    begin(1, "");
    begin(2, "");
    begin(3, "");
    assert_int_equal(wait_for(1, 2), 0);
    assert_int_equal(wait_for(2, 3), 0);
    refused(wait_for(3, 1), "it would wait for ever: job 1, which waits for job 2, which "
                            "waits for job 3, which waits for this");
    stop_waiting(2);
    assert_int_equal(wait_for(3, 1), 0);
}

static void for_one_that_is_to_start_after_it(void **state)
{
    (void)state;
    begin(1, "");
    begin_as(UID, 2, "", 1);
    begin_as(UID, 3, "", 2);
    refused(wait_for(1, 3), "it would wait for ever: job 3, which waits for job 2, which "
                            "waits for job 1, which waits for this");
    end(1);
}

static void for_one_to_which_something_is_not_left(void **state)
{
    (void)state;
    begin(1, "l");
    begin(2, "lm");
    begin(3, "m");
    assert_false(runs(2) || runs(3));
    refused(wait_for(1, 3),
            "it would wait for ever: job 3, which waits for lock m: left to job 2, which "
            "waits for lock l: job 1 has it, and waits for this");
    begin(4, "m"); /* behind job 3 */
    refused(wait_for(1, 4),
            "it would wait for ever: job 4, which waits for lock m: left to job 2, which "
            "waits for lock l: job 1 has it, and waits for this");
    end(1);
}

/* What is first in the line goes on, and leaves it to the one behind, which does not. */
static void for_one_that_is_third_in_the_line(void **state)
{
    (void)state;
    begin(1, "l");
    begin(2, "mk");
    begin(3, "mk");
    begin(4, "ml");
    begin(5, "m");
    assert_true(runs(2));
    assert_false(runs(3) || runs(4) || runs(5));
    assert_int_equal(wait_for(1, 3), 0);
    stop_waiting(1);
    refused(wait_for(1, 5),
            "it would wait for ever: job 5, which waits for lock m: left to job 4, which "
            "waits for lock l: job 1 has it, and waits for this");
    end(1);
}

/* It has no claims, so what is asked for inside it goes before nothing. */
static void for_what_is_before_a_lease_in_the_line(void **state)
{
    (void)state;
    begin(1, "l");
    begin(2, "m");
    begin(3, "lm");
    begin(4, "");
    assert_int_equal(wait_for(1, 4), 0);
    (void)ask_in(4, 0, "m", -EDEADLK);
    assert_string_equal(
        err.text, "it would wait for ever: lock m: left to job 3, which waits for "
                  "lock l: job 1 has it, and waits for job 4, which waits for this");
    stop_waiting(1);
    struct lease *l = ask_in(4, 0, "m", 0);
    refused(wait_for(1, 4),
            "it would wait for ever: job 4, which waits for lock m: left to job 3, which "
            "waits for lock l: job 1 has it, and waits for this");
    end_lease(l);
    end(1);
}

/* Of two inside of jobs with claims, which go before all others, the earlier one. */
static void for_a_lease_that_goes_first_too(void **state)
{
    (void)state;
    begin(1, "l");
    begin(2, "m");
    begin(3, "x");
    begin(4, "y");
    struct lease *m = ask_in(3, 0, "m", 0);
    assert_int_equal(m->state, LEASE_WAITS);
    assert_int_equal(wait_for(1, 4), 0);
    struct lease *behind = ask_in(4, 0, "m", 0); /* nothing holds the first up */
    end_lease(behind);
    stop_waiting(1);
    assert_int_equal(wait_for_both(2, 0, 4, 0), 0);
    (void)ask_in(4, 0, "m", -EDEADLK);
    assert_string_equal(err.text, "it would wait for ever: lock m: job 2 has it, and "
                                  "waits for job 4, which waits for this");
    end_lease(m);
}

/* What is passed in the line leaves nothing to itself. */
static void for_one_that_is_behind_a_paused_queue(void **state)
{
    struct job_queue *q = admission_default_queue(core.parts.admit);
    const struct queue_policy goes_on = q->policy;
    struct queue_policy paused = q->policy;

    (void)state;
    begin(1, "l");
    begin(2, "m");
    begin(3, "lm");
    begin(4, "m");
    assert_int_equal(wait_for(1, 4), -EDEADLK);
    paused.paused = true;
    admission_set_queue(core.parts.admit, q, &paused);
    assert_int_equal(wait_for(1, 4), 0);
    stop_waiting(1);
    admission_set_queue(core.parts.admit, q, &goes_on);
    end(1);
}

/* Job 4 waits inside job 1 at lock m; job 6 has taken a place before it meanwhile, and
 * waits for job 1: for what comes then there is no way on either. */
static struct lease *make_circle(uint64_t in_job)
{
    begin(1, "l");
    begin(2, "m");
    struct lease *l = ask_in(in_job, 0, "m", 0);
    assert_int_equal(l->state, LEASE_WAITS);
    priority = 5;
    begin(6, "ml");
    priority = 0;
    begin(7, "");
    return l;
}

/* Whatever nobody has looked at: job 1 waits for this one. */
static void make_wait(uint64_t id)
{
    waits_for[1][0] = id;
    call[1] = (struct inner_wait){.uid = UID,
                                  .in_job = {.id = 1, .index = JOB_NO_INDEX},
                                  .job = job_of_call,
                                  .arg = waits_for[1],
                                  .n = 1};
    inner_wait_add(&core, &call[1]);
}

static void for_what_waits_for_ever_already(void **state)
{
    (void)state;
    begin(4, "");
    struct lease *l = make_circle(4);
    make_wait(4);
    refused(wait_for(7, 4),
            "it would wait for ever: job 4, which waits for lock m: left to job 6, which "
            "waits for lock l: job 1 has it, and waits for job 4");
    stop_waiting(1);
    assert_int_equal(wait_for(7, 4), 0);
    end_lease(l);
}

static void for_what_is_behind_such(void **state)
{
    (void)state;
    begin(4, "");
    struct lease *l = make_circle(4);
    make_wait(6);
    refused(wait_for(7, 4),
            "it would wait for ever: job 4, which waits for lock m: left to job 6, which "
            "waits for lock l: job 1 has it, and waits for job 6");
    stop_waiting(1);
    make_wait(5);
    begin(5, "m");
    refused(
        wait_for(7, 6),
        "it would wait for ever: job 6, which waits for lock l: job 1 has it, and "
        "waits for job 5, which waits for lock m: left to job 6, which waits for lock "
        "l");
    stop_waiting(1);
    end_lease(l);
}

/* Both would share it. */
static void for_one_that_is_behind_what_wants_it_alone(void **state)
{
    (void)state;
    begin(1, "0");
    begin(2, "a");
    begin(3, "0");
    assert_false(runs(2) || runs(3));
    refused(wait_for(1, 3),
            "it would wait for ever: job 3, which waits for lock a: left to job 2, which "
            "waits for lock a: job 1 has it, and waits for this");
    end(1);
}

static void for_permits(void **state)
{
    (void)state;
    begin(1, "S");
    begin(2, "S");
    refused(wait_for(1, 2), "it would wait for ever: job 2, which waits for semaphore S: "
                            "job 1 has permits, and waits for this");
    end(1);
}

static void for_a_lock_of_one_that_waits_for_it(void **state)
{
    (void)state;
    begin(1, "a");
    begin(2, "");
    assert_int_equal(wait_for(1, 2), 0);
    (void)ask_in(2, 0, "a", -EDEADLK);
    assert_string_equal(err.text,
                        "it would wait for ever: lock a: job 1 has it, and waits "
                        "for job 2, which waits for this");
    stop_waiting(1);
    struct lease *l = ask_in(2, 0, "a", 0);
    assert_int_equal(l->state, LEASE_WAITS);
    refused(wait_for(1, 2),
            "it would wait for ever: job 2, which waits for lock a: job 1 "
            "has it, and waits for this");
    end_lease(l);
}

static void inside_the_command_of_a_lease(void **state)
{
    (void)state;
    struct lease *outer = ask_in(0, 0, "a", 0), *inner = ask_in(0, outer->id, "b", 0);

    begin(2, "a");
    begin(3, "b");
    refused(
        wait_for_both(0, inner->id, 2, 0),
        "it would wait for ever: job 2, which waits for lock a: volt-lock (pid 7) has "
        "it, and waits for this");
    refused(
        wait_for_both(0, inner->id, 3, 0),
        "it would wait for ever: job 3, which waits for lock b: volt-lock (pid 7) has "
        "it, and waits for this");
    assert_int_equal(wait_for_both(0, outer->id, 3, 0), 0); /* b is free before */
    stop_waiting(0);
    assert_int_equal(wait_for_both(0, outer->id + 100, 2, 0), 0); /* there is none */
    stop_waiting(0);
    end_lease(inner);
    end_lease(outer);
}

static void what_may_go_on(void **state)
{
    (void)state;
    begin(1, "a");
    begin(2, "b");
    begin(3, "b");
    begin_as(UID + 1, 4, "a", 0);
    assert_true(runs(4)); /* the lock is another one */
    begin_as(UID + 1, 5, "a", 0);
    assert_int_equal(wait_for(1, 3), 0); /* for job 2 */
    stop_waiting(1);
    assert_int_equal(wait_for(1, 5), 0); /* of another user */
    stop_waiting(1);
    assert_int_equal(wait_for(1, 49), 0); /* there is none */
    stop_waiting(1);
    end(2);
    end(3);
    assert_int_equal(wait_for(1, 2), 0); /* it has ended */
    stop_waiting(1);
    assert_int_equal(wait_for_both(0, 0, 1, 0), 0); /* inside of nothing */
    assert_false(call[0].listed);
    end(1);
    assert_int_equal(wait_for(1, 1), 0); /* it has ended */
}

static void a_circle_has_so_many_steps(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= DEADLOCK_STEPS + 1; i++)
        begin(i, "");
    for (uint64_t i = 1; i <= DEADLOCK_STEPS; i++)
        assert_int_equal(wait_for(i, i + 1), 0);
    assert_int_equal(wait_for(DEADLOCK_STEPS + 1, 1), 0);
    stop_waiting(DEADLOCK_STEPS + 1);
    assert_int_equal(wait_for(DEADLOCK_STEPS + 1, 2), -EDEADLK);
}

/* Of leases alone: each is held, and inside of it the next one is asked for. */
static void a_circle_of_leases_has_so_many_steps(void **state)
{
    struct lease *outer[DEADLOCK_STEPS + 1], *inner[DEADLOCK_STEPS + 1];
    char name[DEADLOCK_STEPS + 2][8];

    (void)state;
    for (size_t i = 0; i < DEADLOCK_STEPS + 2; i++)
        (void)snprintf(name[i], sizeof(name[i]), "k%zu", i);
    for (size_t i = 0; i <= DEADLOCK_STEPS; i++)
        outer[i] = ask_in(0, 0, name[i], 0);
    for (size_t i = 0; i < DEADLOCK_STEPS; i++)
        inner[i] = ask_in(0, outer[i]->id, name[i + 1], 0);
    (void)ask_in(0, outer[DEADLOCK_STEPS]->id, name[1], -EDEADLK);
    inner[DEADLOCK_STEPS] = ask_in(0, outer[DEADLOCK_STEPS]->id, name[0], 0);
    for (size_t i = 0; i <= DEADLOCK_STEPS; i++) {
        end_lease(inner[i]);
        end_lease(outer[i]);
    }
}

/* Job 3 again and again, and in the end this one. */
static uint64_t last;

static struct job_key job_of_many(const void *arg, size_t i)
{
    const size_t *n = arg;

    return (struct job_key){.id = i + 1 < *n ? 3 : last, .index = JOB_NO_INDEX};
}

static bool wait_for_many(size_t n)
{
    const struct inner_wait many = {.uid = UID,
                                    .in_job = {.id = 1, .index = JOB_NO_INDEX},
                                    .job = job_of_many,
                                    .arg = &n,
                                    .n = n};

    return deadlock_of_wait(&core, &many, &err);
}

/* What leads nowhere costs no steps, but looks. */
static void so_much_is_looked_at(void **state)
{
    (void)state;
    begin(1, "");
    begin(2, "b");
    begin(3, "b"); /* which may go on */
    last = 1;
    core.held = (struct quota){0};
    assert_true(wait_for_many(DEADLOCK_STEPS + 2));
    assert_in_range(core.held.entries, DEADLOCK_STEPS + 2, DEADLOCK_LOOKS / 2);
    last = 99;
    assert_false(wait_for_many(DEADLOCK_STEPS + 2));
    last = 1;
    assert_false(wait_for_many(DEADLOCK_LOOKS));
}

static void make_array(struct job *j)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT};
    struct array_effects fx;

    waiting_leave(&core, j);
    waiting_forget(&core, j);
    j->spec = job_spec_new();
    j->spec->is_array = true;
    j->spec->array_first = 5;
    j->spec->array_last = 6;
    j->spec->at_once = 1;
    if (j->claims) {
        j->spec->claims = calloc(1, sizeof(*j->spec->claims));
        assert_non_null(j->spec->claims);
        j->spec->claims->name = strdup("a");
        j->spec->nclaims = 1;
    }
    j->array = array_new(2);
    j->elements = elements_new(j->array);
    j->live = NULL;
    assert_int_equal(array_update(j->array, ARRAY_WHOLE, &submit, &fx), 0);
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    for (int64_t i = 0; i < 2; i++) {
        assert_int_equal(array_reserve(j->array, i), 0);
        assert_int_equal(elements_reserve(j->elements, i), 0);
        assert_int_equal(array_update(j->array, i, &submit, &fx), 0);
    }
}

static struct job_key element;

static struct job_key element_of_call(const void *arg, size_t i)
{
    (void)arg, (void)i;
    return element;
}

static int wait_in(int64_t in, int64_t for_index)
{
    struct inner_wait n = {
        .uid = UID, .in_job = {.id = 1, .index = in}, .job = element_of_call, .n = 1};

    element = (struct job_key){.id = 1, .index = for_index};
    return deadlock_of_wait(&core, &n, &err);
}

static void elements(void **state)
{
    (void)state;
    job[1] = (struct job){.id = 1, .kind = JOB_KIND_EXEC, .owner = {.uid = UID}};
    assert_int_equal(table_put(&core.table, 1, &job[1]), 0);
    make_array(&job[1]);
    assert_true(wait_in(5, JOB_NO_INDEX)); /* its array */
    assert_string_equal(err.text, "it would wait for ever: job 1, which waits for this");
    assert_true(wait_in(5, 5));
    assert_string_equal(err.text,
                        "it would wait for ever: job 1_5, which waits for this");
    assert_false(wait_in(5, 6));
    assert_false(wait_in(5, 9)); /* there is none */
    begin(2, "");
    element = (struct job_key){.id = 2, .index = 5}; /* it is no array */
    assert_false(deadlock_of_wait(
        &core,
        &(struct inner_wait){
            .uid = UID, .in_job = element, .job = element_of_call, .n = 1},
        &err));
    waiting_forget(&core, &job[1]);
    array_free(job[1].array);
    elements_free(job[1].elements);
    job_spec_unref(job[1].spec);
    job[1].array = NULL;
}

/* One that has not begun waits with its array. */
static void an_element_that_wants_what_it_has(void **state)
{
    (void)state;
    begin(2, "a");
    job[1] = (struct job){.id = 1, .kind = JOB_KIND_EXEC, .owner = {.uid = UID}};
    assert_int_equal(table_put(&core.table, 1, &job[1]), 0);
    job[1].claims = true;
    make_array(&job[1]);
    waiting_enter(&core, &job[1]);
    element = (struct job_key){.id = 1, .index = 6};
    assert_true(deadlock_of_wait(
        &core,
        &(struct inner_wait){
            .uid = UID, .in_job = {.id = 2, .index = -1}, .job = element_of_call, .n = 1},
        &err));
    assert_string_equal(err.text,
                        "it would wait for ever: job 1_6, which waits for lock a: "
                        "job 2 has it, and waits for this");
    waiting_leave(&core, &job[1]);
    waiting_forget(&core, &job[1]);
    array_free(job[1].array);
    elements_free(job[1].elements);
    job_spec_unref(job[1].spec);
    job[1].array = NULL;
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(for_a_job_that_wants_what_it_has),
        T(for_itself),
        T(for_each_other),
        T(for_one_that_is_to_start_after_it),
        T(for_one_to_which_something_is_not_left),
        T(for_one_that_is_third_in_the_line),
        T(for_what_is_before_a_lease_in_the_line),
        T(for_a_lease_that_goes_first_too),
        T(for_one_that_is_behind_a_paused_queue),
        T(for_what_waits_for_ever_already),
        T(for_what_is_behind_such),
        T(for_one_that_is_behind_what_wants_it_alone),
        T(for_permits),
        T(for_a_lock_of_one_that_waits_for_it),
        T(inside_the_command_of_a_lease),
        T(what_may_go_on),
        T(a_circle_has_so_many_steps),
        T(a_circle_of_leases_has_so_many_steps),
        T(so_much_is_looked_at),
        T(elements),
        T(an_element_that_wants_what_it_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

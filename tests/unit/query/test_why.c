/* Why a job does not go on that has begun, as something inside it waits: a golden text
 * for each. What waits in the line: test_explain. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/leases.h"
#include "daemon/dispatch/state.h"
#include "daemon/lease/lending.h"
#include "daemon/query/why.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { UID = 1000, JOBS = 8, CALLS = 60 };

static struct core core;
static struct job job[JOBS];
static struct work work[JOBS];
static struct inner_wait call[CALLS];
static struct lending lending[CALLS];
static uint64_t waits_for[CALLS][16];
static const char lent[] =
    "its slot is lent to others meanwhile, and comes back at once then, before all "
    "that wait for one";

static struct why why;
static struct quota asked; /* what the question was charged */

/* Jobs 1 and 2 run, and 2 has the lock "own"; the others wait for their turn. */
static int setup(void **state)
{
    struct store *store = store_memory_new();

    (void)state;
    assert_non_null(store);
    bare_core_init(&core, NULL, store, 2);
    assert_non_null(users_get(&core.users, UID));
    memset(call, 0, sizeof(call));
    memset(lending, 0, sizeof(lending));
    for (size_t i = 1; i < JOBS; i++) {
        struct job_claim own = {.name = (char[]){"own"}};
        struct job_spec spec = {.claims = &own, .nclaims = i == 2};
        job[i] = (struct job){.id = i,
                              .kind = JOB_KIND_EXEC,
                              .spec = &spec,
                              .claims = i == 2,
                              .owner = {.uid = UID},
                              .live = i <= 2 ? &work[i] : NULL};
        work[i] = (struct work){.core = &core, .job = &job[i], .offset = NO_OFFSET};
        assert_int_equal(table_put(&core.table, i, &job[i]), 0);
        assert_int_equal(waiting_assign(&core, &job[i], NULL), 0);
        job[i].spec = NULL;
    }
    core.dispatcher.on = true;
    for (size_t i = 1; i < JOBS; i++) {
        struct tx tx;
        core_begin(&tx, &core);
        waiting_enter(&core, &job[i]);
        dispatch_finish(&tx);
        if (i > 2)
            continue;
        assert_true(work_has_slot(&work[i]));
        job[i].status.state = JOB_RUNNING;
        job[i].status.attempt = 1;
    }
    core.dispatcher.on = false; /* a slot that is lent stays free */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < CALLS; i++)
        lending_end_wait(&core, &call[i], &lending[i]);
    for (size_t i = 1; i < JOBS; i++) {
        waiting_leave(&core, &job[i]);
        if (i == 2)
            grant_release_locks(&core, &work[2]);
        table_remove(&core.table, i);
    }
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

static struct job_key key_of(const void *arg, size_t i)
{
    const uint64_t *ids = arg;

    return (struct job_key){.id = ids[i], .index = JOB_NO_INDEX};
}

/* Inside of job 1, call c waits for n jobs from this one on. */
static void wait_for(size_t c, uint64_t first, size_t n)
{
    struct volt_error err;

    for (size_t i = 0; i < n; i++)
        waits_for[c][i] = first + i;
    call[c] = (struct inner_wait){.uid = UID,
                                  .in_job = {.id = 1, .index = JOB_NO_INDEX},
                                  .job = key_of,
                                  .arg = waits_for[c],
                                  .n = n};
    assert_int_equal(lending_begin_wait(&core, &call[c], &lending[c], NULL, &err), 0);
}

static void says(const char *const expected[], size_t n)
{
    const struct asker asker = auth_user(UID);

    asked = (struct quota){0};
    assert_int_equal(query_why(&core, &asker, 1, JOB_NO_INDEX, &asked, &why), 0);
    assert_int_equal(why.state, JOB_RUNNING);
    for (size_t i = 0; i < why.n && i < n; i++) {
        assert_string_equal(why.reason[i].text, expected[i]);
        assert_string_equal(job_wait_name(why.reason[i].wait), "inside");
    }
    assert_int_equal(why.n, n);
    assert_true(asked.entries <= WHY_LOOKS);
}

#define SAYS(...)                                                                        \
    says((const char *const[]){__VA_ARGS__},                                             \
         sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void a_call_for_one_job(void **state)
{
    (void)state;
    says(NULL, 0);
    wait_for(0, 3, 1);
    SAYS("something inside it waits for job 3, which is queued", lent);
    assert_int_equal(asked.entries, 3); /* the job, the call, its job */
    job[3].status.state = JOB_STOPPING;
    SAYS("something inside it waits for job 3, which is stopping", lent);
    job[3].status.state = JOB_DONE;
    SAYS("something inside it waits for job 3", lent);
    job[3].status.state = JOB_QUEUED;
    lending_end_wait(&core, &call[0], &lending[0]);
    says(NULL, 0);
}

/* Of several the first that has not ended, of the first eight; else the last of these. */
static void a_call_for_several(void **state)
{
    (void)state;
    job[2].status.state = JOB_DONE;
    wait_for(0, 2, 3);
    SAYS(
        "something inside it waits for the ends of 3 jobs, also of job 3, which is queued",
        lent);
    assert_int_equal(asked.entries, 4);
    job[2].status.state = JOB_RUNNING;
    lending_end_wait(&core, &call[0], &lending[0]);
    wait_for(0, 100, 9);
    waits_for[0][7] = 4;
    SAYS(
        "something inside it waits for the ends of 9 jobs, also of job 4, which is queued",
        lent);
    waits_for[0][7] = 107;
    waits_for[0][8] = 4;
    SAYS("something inside it waits for the ends of 9 jobs", lent);
    assert_int_equal(asked.entries, 10);
}

/* As many as there is room for; those inside of other jobs are not told. */
static void many_calls(void **state)
{
    static const char text[] = "something inside it waits for job 3, which is queued";

    (void)state;
    for (size_t c = 0; c < CALLS; c++)
        wait_for(c, 3, 1);
    SAYS(text, text, text, text, text, text, lent);
    for (size_t c = 0; c < CALLS - 1; c++)
        call[c].in_job.id = 2;
    SAYS(lent); /* too far behind to be looked at */
    for (size_t c = 0; c < 46; c++)
        lending_end_wait(&core, &call[c], &lending[c]);
    SAYS(text, lent);
}

/* It is given at once what is free, unless the slot is lent: that is for none here. */
static struct lease *ask_of(char *name, uint64_t id, uint64_t in_job,
                            enum job_claim_mode mode)
{
    const struct lease_ask ask = {.id = id,
                                  .uid = UID,
                                  .claim = {.name = name, .mode = mode, .permits = 1},
                                  .pid = 7,
                                  .command = "make",
                                  .in_job = {.id = in_job, .index = JOB_NO_INDEX}};
    struct volt_error err;
    struct lease *l;
    struct tx tx;

    core.dispatcher.on = core.counts.slots_lent == 0;
    core_begin(&tx, &core);
    assert_int_equal(leases_ask(&tx, &ask, true, &l, &err), 0);
    dispatch_finish(&tx);
    core.dispatcher.on = false;
    if (l->state == LEASE_GIVEN)
        leases_hold(&core, l);
    return l;
}

static struct lease *ask(uint64_t id, uint64_t in_job, enum job_claim_mode mode)
{
    char name[] = "db";

    return ask_of(name, id, in_job, mode);
}

static void end(struct lease *l)
{
    struct tx tx;

    core_begin(&tx, &core);
    leases_end(&tx, l);
    dispatch_finish(&tx);
}

/* A lease that has what it asked for, and one inside of another job, are not told. */
static void a_lock(void **state)
{
    const struct job_key one = {.id = 1, .index = JOB_NO_INDEX};
    struct lease *first = ask(100, 1, JOB_CLAIM_EXCLUSIVE),
                 *second = ask(101, 2, JOB_CLAIM_EXCLUSIVE);

    (void)state;
    lending_begin(&core, UID, &one, &lending[0]);
    SAYS(lent);
    struct lease *third = ask(102, 1, JOB_CLAIM_EXCLUSIVE);
    SAYS("something inside it waits for lock db (held by volt-lock, pid 7)", lent);
    assert_int_equal(asked.entries, 5); /* it, two before that, what job and lease have */
    wait_for(1, 3, 1);
    SAYS("something inside it waits for job 3, which is queued",
         "something inside it waits for lock db (held by volt-lock, pid 7)", lent);
    lending_end_wait(&core, &call[1], &lending[1]);
    lending_end(&core, &lending[0]);
    says(NULL, 0);
    end(third);
    end(second);
    end(first);
}

static void a_lock_that_a_job_has(void **state)
{
    const struct job_key one = {.id = 1, .index = JOB_NO_INDEX};
    char name[] = "own";
    struct lease *l = ask_of(name, 100, 1, JOB_CLAIM_EXCLUSIVE);

    (void)state;
    lending_begin(&core, UID, &one, &lending[0]);
    SAYS("something inside it waits for lock own (held by job 2)", lent);
    lending_end(&core, &lending[0]);
    end(l);
}

static void a_semaphore(void **state)
{
    const struct job_key one = {.id = 1, .index = JOB_NO_INDEX};
    struct lease *others[60];

    (void)state;
    struct lease *first = ask(100, 2, JOB_CLAIM_PERMITS),
                 *second = ask(101, 1, JOB_CLAIM_PERMITS);
    lending_begin(&core, UID, &one, &lending[0]);
    SAYS("something inside it waits for semaphore db (held by volt-lock, pid 7)", lent);
    end(second);
    for (size_t i = 0; i < 60; i++)
        others[i] = ask(200 + i, 2, JOB_CLAIM_PERMITS);
    second = ask(300, 1, JOB_CLAIM_PERMITS);
    SAYS(lent); /* too far behind to be looked at */
    for (size_t i = 0; i < 12; i++)
        end(others[i]);
    SAYS(lent);
    end(others[12]);
    SAYS("something inside it waits for semaphore db (held by volt-lock, pid 7)", lent);
    lending_end(&core, &lending[0]);
    for (size_t i = 13; i < 60; i++)
        end(others[i]);
    end(second);
    end(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_for_one_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_for_several, setup, teardown),
        cmocka_unit_test_setup_teardown(many_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_that_a_job_has, setup, teardown),
        cmocka_unit_test_setup_teardown(a_semaphore, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Jobs that wait for others: what is known of these, what has been met before, and what
 * is left to be waited for. What edges are in admission is in test_conditions.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/core/conditions.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/state.h"
#include "daemon/dispatch/dependents.h"
#include "daemon/dispatch/dooms.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { QUEUED = 1, RUNNING, GOOD, BAD, OTHER_USER, UNKNOWN, LATER };

static const struct job_owner owner = {.uid = 7}, other = {.uid = 8};
static struct core core;
static struct tx tx;

static struct job *new_job(uint64_t id, const struct job_owner *of, struct job_spec *spec)
{
    struct job *j = job_new_bare(&core, spec, of, true, false);

    job_spec_unref(spec);
    assert_non_null(j);
    assert_int_equal(table_put(&core.table, id, j), 0);
    users_add(&core.users, users_get(&core.users, of->uid), 1, j->bytes);
    j->id = id;
    j->status.submitted_usec = 1;
    core.counts.by_state[JOB_QUEUED]++;
    index_enter(&core, j);
    return j;
}

static struct job_spec *a_noop(void)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->kind = JOB_KIND_NOOP;
    return spec;
}

static void end(uint64_t id, enum job_result result, uint64_t started_usec)
{
    struct job *job = table_get(&core.table, id);

    job->status.state = result ? JOB_DONE : JOB_RUNNING;
    job->status.result = (uint8_t)result;
    job->status.started_usec = started_usec;
    job->status.has_started = started_usec != 0;
    dependencies_follow(&core, job);
}

static int setup(void **state)
{
    (void)state;
    bare_core_init(&core, NULL, store_memory_new(), 0);
    tx_init(&tx, &core);
    for (uint64_t id = QUEUED; id < UNKNOWN; id++)
        (void)new_job(id, id == OTHER_USER ? &other : &owner, a_noop());
    end(RUNNING, JOB_RESULT_NONE, 5);
    end(GOOD, JOB_RESULT_SUCCESS, 5);
    end(BAD, JOB_RESULT_CANCELLED, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    dependencies_forget(&core);
    tx_carry_out(&tx);
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

static struct job *waiter(uint64_t id, const struct job_edge *edges, size_t n)
{
    struct job_spec *spec = a_noop();

    spec->after = calloc(n, sizeof(*edges));
    assert_non_null(spec->after);
    for (size_t i = 0; i < n; i++)
        spec->after[i] = edges[i];
    spec->nafter = n;
    return new_job(id, &owner, spec);
}

static int wait_for(struct job *job)
{
    struct volt_error err;

    return core_wait_for(&core, job, &err);
}

static size_t edges_of(const struct job *job)
{
    size_t n = 0;

    for (const struct condition *c = condition_first(&job->waiter); c; c = c->next)
        n += condition_is(c, &condition_after);
    return n;
}

static void what_is_known_of_others(void **state)
{
    static const struct {
        uint64_t id;
        bool known, started;
        enum job_result result;
    } cases[] = {
        {QUEUED, true, false, JOB_RESULT_NONE}, {RUNNING, true, true, JOB_RESULT_NONE},
        {GOOD, true, true, JOB_RESULT_SUCCESS}, {BAD, true, false, JOB_RESULT_CANCELLED},
        {OTHER_USER, false, false, 0},          {UNKNOWN, false, false, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_edge edge = {.job = cases[i].id};

        assert_int_equal(dependencies_look(&core, owner.uid, &edge), cases[i].known);
        assert_int_equal(edge.started, cases[i].started);
        assert_int_equal(edge.result, cases[i].result);
    }
}

/* Each way to wait for each of these: no edge, one, or one that is in vain. */
static void what_is_met_at_once(void **state)
{
    static const uint64_t of[] = {QUEUED, RUNNING, GOOD, BAD};
    static const enum job_after when[] = {JOB_AFTER_OK, JOB_AFTER_ANY, JOB_AFTER_START};
    uint64_t id = LATER;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 3; k++) {
            const struct job_edge edge = {.job = of[i], .when = when[k]};
            struct job *job = waiter(id++, &edge, 1);
            const bool ended = i > 1, success = i == 2, started = i == 1 || i == 2;
            const bool met = k == 0 ? success : k == 1 ? ended : started;

            assert_int_equal(wait_for(job), 0);
            assert_int_equal(edges_of(job), !met);
            if (met)
                continue;
            waiting_enter(&core, job);
            core_wait_begins(&core, job, job->spec);
            assert_int_equal(dependents_run(&tx), 0);
            assert_int_equal(doom_first(core.parts.admit) != NULL, ended);
            assert_int_equal(dooms_run(&tx), 0);
            assert_int_equal(job->status.result,
                             ended ? JOB_RESULT_DEPENDENCY : JOB_RESULT_NONE);
            assert_int_equal(job->status.cause.job, ended ? of[i] : 0);
        }
}

/* Nothing is left of a job that is not known well enough; its spec may say the rest. */
static void what_the_spec_says(void **state)
{
    const struct job_edge edges[] = {{.job = QUEUED}, {.job = UNKNOWN}};
    struct job *job = waiter(LATER, edges, 2);

    (void)state;
    assert_int_equal(wait_for(job), -EAGAIN);
    assert_int_equal(job->waiter.state, WAITER_NONE);
    assert_false(condition_after_is_awaited(core.parts.admit, QUEUED));
    job->spec->after[1].result = JOB_RESULT_SUCCESS;
    assert_int_equal(wait_for(job), 0);
    assert_int_equal(edges_of(job), 1);
    job = waiter(LATER + 1, &(struct job_edge){.job = OTHER_USER}, 1);
    assert_int_equal(wait_for(job), -EAGAIN);
}

/* After a restart: by the facts of each job, also of those in between. */
static void what_was_met_before(void **state)
{
    const struct job_edge edges[] = {{.job = QUEUED, .when = JOB_AFTER_OK},
                                     {.job = QUEUED, .when = JOB_AFTER_START},
                                     {.job = UNKNOWN, .when = JOB_AFTER_ANY}};
    static const struct {
        uint64_t job, antecedent;
        enum job_after when;
    } met[] = {{LATER, QUEUED, JOB_AFTER_START},
               {LATER, UNKNOWN, JOB_AFTER_ANY},
               {LATER + 1, QUEUED, JOB_AFTER_OK},
               {LATER + 2, UNKNOWN, JOB_AFTER_ANY}};
    struct job *job[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        job[i] = waiter(LATER + i, edges, 3);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            dependencies_replay(&core, job[met[i].job - LATER],
                                &(struct job_event){.antecedent = met[i].antecedent,
                                                    .when = met[i].when}),
            0);
    job[0]->recovered = job[1]->recovered = job[2]->recovered = true;
    assert_int_equal(wait_for(job[0]), 0);
    assert_int_equal(edges_of(job[0]), 1);
    assert_int_equal(wait_for(job[1]), -EAGAIN);
    assert_int_equal(wait_for(job[2]), 0);
    assert_int_equal(edges_of(job[2]), 2);
}

/* After a restart: what the spec says was kept with it; what is learned only now is to
 * become a fact. */
static void what_is_learned_after_a_restart(void **state)
{
    const struct job_edge edges[] = {
        {.job = GOOD, .when = JOB_AFTER_OK},
        {.job = GOOD, .when = JOB_AFTER_ANY, .result = JOB_RESULT_SUCCESS},
        {.job = RUNNING, .when = JOB_AFTER_START},
        {.job = RUNNING, .when = JOB_AFTER_START, .started = true},
    };
    struct job *job = waiter(LATER, edges, 4);

    (void)state;
    job->recovered = true;
    for (size_t i = 0; i < 2; i++) { /* as when it has to be asked for the rest */
        waiting_forget(&core, job);
        assert_int_equal(wait_for(job), 0);
        assert_int_equal(edges_of(job), 2);
    }
    waiting_enter(&core, job);
    core.held = (struct quota){0};
    assert_int_equal(dependents_run(&tx), 0);
    assert_int_equal(core.held.facts, 2);
    assert_int_equal(edges_of(job), 0);
}

/* What is due in portions, and what has started waits for nothing. */
static void a_fan(void **state)
{
    const struct job_edge edge = {.job = QUEUED, .when = JOB_AFTER_ANY};
    struct job *job[QUOTA_FACTS + 1];

    (void)state;
    for (size_t i = 0; i <= QUOTA_FACTS; i++) {
        job[i] = waiter(LATER + i, &edge, 1);
        assert_int_equal(wait_for(job[i]), 0);
        waiting_enter(&core, job[i]);
        core_wait_begins(&core, job[i], job[i]->spec);
    }
    end(QUEUED, JOB_RESULT_SUCCESS, 5);
    assert_int_equal(dependents_run(&tx), -EAGAIN);
    assert_int_equal(edges_of(job[QUOTA_FACTS - 1]), 0);
    assert_int_equal(edges_of(job[QUOTA_FACTS]), 1);
    core.held = (struct quota){0};
    assert_int_equal(dependents_run(&tx), 0);
    assert_int_equal(edges_of(job[QUOTA_FACTS]), 0);
    struct job *begun =
        waiter(LATER + QUOTA_FACTS + 1, &(struct job_edge){.job = UNKNOWN}, 1);
    begun->status.attempt = 1;
    assert_int_equal(wait_for(begun), 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_known_of_others),
        T(what_is_met_at_once),
        T(what_the_spec_says),
        T(what_was_met_before),
        T(what_is_learned_after_a_restart),
        T(a_fan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

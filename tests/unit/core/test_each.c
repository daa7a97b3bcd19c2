/* Elements that wait for those of others: which are ready, which are looked at, and what
 * they cost. What becomes of them is in tests/integration/test_elements_after.py. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/conditions.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/each.h"
#include "daemon/core/state.h"
#include "daemon/core/post.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/each_run.h"
#include "tests/support/memory_store.h"
#include "tests/support/alloc_hook.h"
#include "tests/support/bare_core.h"

enum { N = 130, FIRST = 1, SECOND, OTHER_USER, PLAIN, LATER };

static const struct job_owner owner = {.uid = 7}, other = {.uid = 8};
static struct core core;
static struct tx tx;

static struct job_spec *an_array(uint64_t n, size_t nafter)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->kind = JOB_KIND_NOOP;
    spec->is_array = n > 0;
    spec->array_last = n ? n - 1 : 0;
    spec->after = calloc(nafter + 1, sizeof(*spec->after));
    return spec;
}

static struct job *new_job(uint64_t id, const struct job_owner *of, struct job_spec *spec)
{
    const struct job_event submit = job_spec_submission(spec, 1);
    struct job *j = job_new_bare(&core, spec, of, true, false);
    struct array_effects fx;

    job_spec_unref(spec);
    assert_non_null(j);
    assert_int_equal(table_put(&core.table, id, j), 0);
    users_add(&core.users, users_get(&core.users, of->uid),
              j->array ? j->array->total : 1, j->bytes);
    j->id = id;
    j->status.submitted_usec = 1;
    if (j->array)
        assert_int_equal(array_update(j->array, ARRAY_WHOLE, &submit, &fx), 0);
    core.counts.by_state[JOB_QUEUED] += j->array ? j->array->total : 1;
    index_enter(&core, j);
    return j;
}

static int setup(void **state)
{
    (void)state;
    bare_core_init(&core, NULL, store_memory_new(), 0);
    tx_init(&tx, &core);
    (void)new_job(FIRST, &owner, an_array(N, 0));
    (void)new_job(SECOND, &owner, an_array(N, 0));
    (void)new_job(OTHER_USER, &other, an_array(N, 0));
    (void)new_job(PLAIN, &owner, an_array(0, 0));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tx_carry_out(&tx);
    store_free(core.parts.store);
    bare_core_fini(&core);
    return 0;
}

/* Waits for these, all in the same way. */
static struct job *waiter(uint64_t id, uint64_t n, enum job_after when, uint64_t first,
                          uint64_t second)
{
    struct job_spec *spec = an_array(n, 2);

    spec->after[spec->nafter++] =
        (struct job_edge){.job = first, .when = when, .each = true};
    if (second)
        spec->after[spec->nafter++] =
            (struct job_edge){.job = second, .when = when, .each = true};
    return new_job(id, &owner, spec);
}

static int wait_for(struct job *job)
{
    struct volt_error err;

    return core_wait_for(&core, job, &err);
}

static struct job *waits(uint64_t id, enum job_after when, uint64_t second)
{
    struct job *job = waiter(id, N, when, FIRST, second);

    assert_int_equal(wait_for(job), 0);
    core_wait_begins(&core, job, job->spec);
    return job;
}

static void look_at_all(void)
{
    int r;

    do {
        core.held = (struct quota){0};
        r = each_run(&tx);
        assert_true(core.held.entries <= 256 && core.held.facts <= QUOTA_FACTS);
    } while (r == -EAGAIN);
    assert_int_equal(r, 0);
    assert_false(each_is_due(&core));
}

static void end(uint64_t id, int64_t at, enum job_result result)
{
    struct job *job = table_get(&core.table, id);
    struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 5};
    struct job_event starting = {.type = JOB_EV_STARTING, .at_usec = 3, .attempt = 1};
    struct job_event started = {.type = JOB_EV_STARTED, .at_usec = 4, .attempt = 1};
    struct job_event exited = {
        .type = JOB_EV_EXITED, .at_usec = 6, .attempt = 1, .result = JOB_RESULT_SUCCESS};

    assert_int_equal(array_reserve(job->array, at), 0);
    if (result == JOB_RESULT_CANCELLED) {
        assert_int_equal(core_settle(&tx, job, at, &cancel), 0);
        return;
    }
    const bool due = each_is_due(&core);
    assert_int_equal(core_settle(&tx, job, at, &starting), 0);
    assert_int_equal(each_is_due(&core), due);
    assert_int_equal(core_settle(&tx, job, at, &started), 0);
    if (result == JOB_RESULT_SUCCESS)
        assert_int_equal(core_settle(&tx, job, at, &exited), 0);
}

static enum job_result result_of(const struct job *job, int64_t at)
{
    return (enum job_result)array_element(job->array, at).result;
}

/* --- which are ready ---------------------------------------------------------------- */

static void each_is_ready_by_itself(void **state)
{
    static const int64_t at[] = {129, 0, 63, 64, 100};
    struct job *job = waits(LATER, JOB_AFTER_OK, 0);

    (void)state;
    assert_int_equal(each_rest(job), 0);
    assert_int_equal(each_next(job), ARRAY_WHOLE);
    look_at_all();
    assert_int_equal(each_rest(job), 0);
    for (uint64_t i = 0; i < 5; i++) {
        assert_non_null(each_unmet(job, (uint64_t)at[i]));
        end(FIRST, at[i], JOB_RESULT_SUCCESS);
        look_at_all();
        assert_int_equal(each_rest(job), i + 1);
        assert_int_equal(each_next(job), i ? 0 : 129);
        assert_null(each_unmet(job, (uint64_t)at[i]));
    }
    static const int64_t order[] = {0, 63, 64, 100, 129};
    const struct job_event submit = {.type = JOB_EV_SUBMIT};
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(each_next(job), order[i]);
        assert_int_equal(array_reserve(job->array, order[i]), 0);
        assert_int_equal(core_settle(&tx, job, order[i], &submit), 0);
        assert_int_equal(each_rest(job), 4 - i);
    }
    assert_int_equal(each_next(job), ARRAY_WHOLE);
}

static void all_of_its_edges_count(void **state)
{
    struct job *job = waits(LATER, JOB_AFTER_OK, SECOND);

    (void)state;
    look_at_all();
    end(FIRST, 7, JOB_RESULT_SUCCESS);
    end(SECOND, 8, JOB_RESULT_SUCCESS);
    look_at_all();
    assert_int_equal(each_rest(job), 0);
    assert_int_equal(each_unmet(job, 7)->antecedent, SECOND);
    assert_int_equal(each_unmet(job, 8)->antecedent, FIRST);
    end(SECOND, 7, JOB_RESULT_SUCCESS);
    look_at_all();
    assert_int_equal(each_next(job), 7);
    assert_int_equal(each_rest(job), 1);
}

static void what_is_in_vain_ends(void **state)
{
    struct job *ok = waits(LATER, JOB_AFTER_OK, SECOND);
    struct job *start = waits(LATER + 1, JOB_AFTER_START, 0);
    struct job *behind = waiter(LATER + 2, N, JOB_AFTER_NOTOK, LATER, 0);

    (void)state;
    assert_int_equal(wait_for(behind), 0);
    core_wait_begins(&core, behind, behind->spec);
    end(FIRST, 129, JOB_RESULT_CANCELLED);
    end(SECOND, 129, JOB_RESULT_CANCELLED);
    end(FIRST, 3, JOB_RESULT_NONE);
    look_at_all();
    assert_int_equal(result_of(ok, 129), JOB_RESULT_DEPENDENCY);
    assert_int_equal(array_own(ok->array, 129)->cause.job, FIRST);
    assert_int_equal(array_own(ok->array, 129)->cause.result, JOB_RESULT_CANCELLED);
    assert_int_equal(result_of(start, 129), JOB_RESULT_DEPENDENCY);
    assert_int_equal(ok->array->rest, N - 1);
    assert_int_equal(each_next(start), 3);
    assert_int_equal(each_rest(start), 1);
    assert_int_equal(each_next(behind), 129);
    assert_int_equal(each_rest(ok), 0);
}

/* It ends meanwhile, by itself or with its array: nothing is ready, and nothing is left. */
static void what_has_ended_is_not_ready(void **state)
{
    struct job *job = waits(LATER, JOB_AFTER_ANY, 0);
    const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 5};

    (void)state;
    end(LATER, 3, JOB_RESULT_CANCELLED);
    end(FIRST, 3, JOB_RESULT_SUCCESS);
    end(FIRST, 4, JOB_RESULT_SUCCESS);
    look_at_all();
    assert_int_equal(each_rest(job), 1);
    assert_null(each_unmet(job, 3));
    end(LATER, 4, JOB_RESULT_CANCELLED);
    assert_int_equal(each_rest(job), 0);
    assert_true(dependencies_is_awaited(&core, FIRST));
    end(FIRST, 5, JOB_RESULT_SUCCESS);
    assert_true(each_is_due(&core));
    assert_int_equal(core_settle(&tx, job, NO_OFFSET, &cancel), 0);
    assert_false(each_is_due(&core));
    assert_false(dependencies_is_awaited(&core, FIRST));
    assert_int_equal(table_get(&core.table, FIRST)->elements->followers.n, 0);
}

/* The rest of an antecedent ends at once. */
static void the_rest_of_an_antecedent(void **state)
{
    struct job *first = table_get(&core.table, FIRST);
    struct job *job = waits(LATER, JOB_AFTER_NOTOK, 0);
    const struct job_event cancel = {.type = JOB_EV_CANCEL, .at_usec = 5};

    (void)state;
    look_at_all();
    end(FIRST, 70, JOB_RESULT_NONE);
    look_at_all();
    assert_int_equal(core_settle(&tx, first, NO_OFFSET, &cancel), 0);
    look_at_all();
    assert_int_equal(each_rest(job), N - 1);
    assert_non_null(each_unmet(job, 70));
    assert_int_equal(first->elements->followers.n, 1);
    const struct job_event exited = {
        .type = JOB_EV_EXITED, .at_usec = 6, .attempt = 1, .result = JOB_RESULT_SUCCESS};
    assert_int_equal(core_settle(&tx, first, 70, &exited), 0);
    look_at_all();
    assert_int_equal(result_of(job, 70), JOB_RESULT_DEPENDENCY);
    assert_int_equal(first->elements->followers.n, 0); /* nothing more comes of it */
    assert_true(dependencies_is_awaited(&core, FIRST));
}

/* --- what is known before ----------------------------------------------------------- */

static void what_is_not_known_is_asked_for(void **state)
{
    struct volt_error err;
    struct job *job = waiter(LATER, N, JOB_AFTER_OK, 99, 0);

    (void)state;
    assert_int_equal(wait_for(job), -EAGAIN);
    assert_null(job->elements->each);
    job->spec->after[0].past = past_elements_new(N, N);
    job->spec->after[0].past->of[64] = JOB_RESULT_SUCCESS << 1 | 1;
    assert_int_equal(wait_for(job), 0);
    assert_null(job->spec->after[0].past);
    core_wait_begins(&core, job, job->spec);
    look_at_all();
    assert_int_equal(each_next(job), 64);
    assert_int_equal(job->array->rest, 1); /* the others are lost */
    assert_int_equal(result_of(job, 129), JOB_RESULT_DEPENDENCY);
    job = waiter(LATER + 1, N, JOB_AFTER_OK, OTHER_USER, 0);
    assert_int_equal(core_wait_for(&core, job, &err), -EAGAIN);
}

/* All alike: the array as a whole says so. */
static void all_that_succeeded(void **state)
{
    (void)state;
    for (int notok = 0; notok < 2; notok++) {
        struct job *job = waiter(LATER + (uint64_t)notok, N,
                                 notok ? JOB_AFTER_NOTOK : JOB_AFTER_OK, 99, 0);

        job->spec->after[0].result = JOB_RESULT_SUCCESS;
        job->spec->after[0].started = true;
        assert_int_equal(wait_for(job), 0);
        core_wait_begins(&core, job, job->spec);
        look_at_all();
        assert_int_equal(each_rest(job), notok ? 0 : N);
        assert_int_equal(job->array->rest, notok ? 0 : N);
    }
}

static void what_is_lost_decides_all(void **state)
{
    struct job *job = waiter(LATER, N, JOB_AFTER_ANY, 99, 0);

    (void)state;
    assert_int_equal(dependencies_lose(&job->spec->after[0]), 0);
    assert_int_equal(job->spec->after[0].result, JOB_RESULT_LOST);
    job->recovered = true;
    assert_int_equal(wait_for(job), 0);
    look_at_all();
    assert_int_equal(each_rest(job), N);
}

static void what_is_refused(void **state)
{
    struct volt_error err;
    struct job *job;

    (void)state;
    job = waiter(LATER, N - 1, JOB_AFTER_OK, FIRST, 0);
    assert_int_equal(core_wait_for(&core, job, &err), -EINVAL);
    assert_string_equal(err.text, "after: job 1 has 130 elements, and not 129 as this "
                                  "one: element to element takes as many");
    job = waiter(LATER + 1, N, JOB_AFTER_OK, PLAIN, 0);
    assert_int_equal(core_wait_for(&core, job, &err), -EINVAL);
    assert_string_equal(err.text, "after: job 4 has no elements: element to element "
                                  "takes an array with as many as this one, 130");
    job = waiter(LATER + 2, N, JOB_AFTER_OK, 99, 0);
    job->spec->after[0].past = past_elements_new(N + 1, 0);
    assert_int_equal(core_wait_for(&core, job, &err), -EINVAL);
    for (uint64_t i = 0; i < EACH_FOLLOWERS; i++)
        (void)waits(LATER + 3 + i, JOB_AFTER_OK, 0);
    job = waiter(LATER + 99, N, JOB_AFTER_OK, FIRST, 0);
    assert_int_equal(core_wait_for(&core, job, &err), -EINVAL);
    assert_string_equal(err.text, "after: 16 arrays wait for job 1 element to element, "
                                  "which is all that may");
    assert_null(job->elements->each);
    job->recovered = true; /* one that was taken is not refused */
    assert_int_equal(wait_for(job), 0);
}

/* One that is given up leaves nothing behind; nor is it looked at before it is entered. */
static void before_it_is_entered(void **state)
{
    struct job *job = waiter(LATER, N, JOB_AFTER_OK, FIRST, SECOND);

    (void)state;
    assert_int_equal(wait_for(job), 0);
    assert_int_equal(table_get(&core.table, SECOND)->elements->followers.n, 1);
    end(FIRST, 1, JOB_RESULT_SUCCESS);
    assert_false(each_is_due(&core));
    conditions_forget(&core, job);
    assert_null(job->elements->each);
    assert_false(dependencies_is_awaited(&core, FIRST));
    assert_int_equal(table_get(&core.table, SECOND)->elements->followers.n, 0);
}

/* Its antecedent has as many elements no more: it is not the one that was meant. */
static void what_is_not_the_one_is_lost(void **state)
{
    struct job *job = waiter(LATER, 9, JOB_AFTER_OK, FIRST, 0);

    (void)state;
    job->recovered = true;
    assert_int_equal(wait_for(job), 0);
    assert_int_equal(table_get(&core.table, FIRST)->elements->followers.n, 0);
    look_at_all();
    assert_int_equal(job->array->rest, 0);
    assert_int_equal(result_of(job, 8), JOB_RESULT_DEPENDENCY);
    assert_int_equal(array_own(job->array, 8)->cause.job, FIRST);
    assert_int_equal(array_own(job->array, 8)->cause.result, JOB_RESULT_LOST);
}

/* Whatever there is no memory for, nothing is left of it, and it waits when there is. */
static void without_memory(void **state)
{
    struct job *job = waiter(LATER, N, JOB_AFTER_OK, FIRST, SECOND);
    int r = -ENOMEM;

    (void)state;
    for (uint64_t n = 1; r < 0; n++) {
        hook_arm(n, false);
        r = wait_for(job);
        hook_arm(0, false);
        if (r == 0) {
            assert_true(hook_count() < n); /* nothing has failed */
            break;
        }
        assert_int_equal(r, -ENOMEM);
        assert_null(job->elements->each);
        assert_false(dependencies_is_awaited(&core, FIRST));
        assert_int_equal(table_get(&core.table, FIRST)->elements->followers.n, 0);
    }
    core_wait_begins(&core, job, job->spec);
    end(FIRST, 7, JOB_RESULT_SUCCESS);
    end(SECOND, 7, JOB_RESULT_SUCCESS);
    look_at_all();
    assert_int_equal(each_next(job), 7);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_is_ready_by_itself),
        T(all_of_its_edges_count),
        T(what_is_in_vain_ends),
        T(what_has_ended_is_not_ready),
        T(the_rest_of_an_antecedent),
        T(what_is_not_known_is_asked_for),
        T(all_that_succeeded),
        T(what_is_lost_decides_all),
        T(what_is_refused),
        T(before_it_is_entered),
        T(what_is_not_the_one_is_lost),
        T(without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which jobs a waiting job waits for is edited, under the lock: what it waits for then,
 * and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/doom.h"
#include "daemon/core/circle.h"
#include "daemon/core/conditions.h"
#include "daemon/core/each.h"
#include "daemon/core/edit.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/dependents.h"
#include "daemon/dispatch/each_run.h"
#include "daemon/job/spec_edit.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"

enum { N = 3, FIRST = 1, OTHERS = 500, UNKNOWN = 900, MANY = 1000 };

static const struct job_owner user = {.uid = 1000}, other = {.uid = 1001};
static struct core core;
static struct store *memory;
static struct job *job;
static struct job_spec *changes;
static struct tx tx;
static struct volt_error err;

static struct job_spec *new_spec(uint64_t elements)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->argv = calloc(2, sizeof(char *));
    assert_non_null(spec->argv);
    spec->argv[0] = strdup("true");
    spec->is_array = elements > 0;
    spec->array_last = elements ? elements - 1 : 0;
    return spec;
}

static struct job *enter(uint64_t id, const struct job_owner *owner,
                         struct job_spec *spec)
{
    struct job *j = job_new(&core, spec, owner, true);

    assert_non_null(j);
    users_add(&core.users, users_get(&core.users, owner->uid), job_spec_count(spec),
              j->bytes);
    assert_int_equal(core_wait_for(&core, j, &err), 0);
    assert_int_equal(core_enter(&tx, j, id, 1), 0);
    job_spec_unref(spec);
    return j;
}

static struct job *new_job(uint64_t id)
{
    return enter(id, &user, new_spec(0));
}

static struct job *new_array(uint64_t id, uint64_t n)
{
    return enter(id, &user, new_spec(n));
}

static int setup(void **state)
{
    static struct queue_config config; /* its lists, none, are taken over */

    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 1);
    queue_config_init(&config, "default");
    assert_int_equal(queues_configure(&core, &config, 1), 0);
    tx_init(&tx, &core);
    (void)enter(OTHERS, &other, new_spec(0));
    job = new_job(7);
    changes = job_spec_new();
    assert_non_null(changes);
    changes->after = calloc(MANY, sizeof(*changes->after));
    assert_non_null(changes->after);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    job_spec_unref(changes);
    store_free(memory);
    bare_core_fini(&core);
    return 0;
}

static int edit_by(struct job *j, bool only_checks)
{
    const struct job_edit e = {
        .changes = changes, .tags = TAGS_OF_AFTER, .uid = user.uid};

    return only_checks ? core_edit_check(&tx, j, &e, &user, &err)
                       : core_edit(&tx, j, &e, &user, &err);
}

static int edit(struct job *j)
{
    return edit_by(j, false);
}

static void also(struct job_edge edge)
{
    changes->after[changes->nafter++] = edge;
}

/* It is to wait for this one alone; 0: for none. */
static int edit_to(struct job *j, uint64_t id, enum job_after when)
{
    changes->nafter = 0;
    if (id)
        also((struct job_edge){.job = id, .when = when});
    return edit(j);
}

static size_t edges_of(const struct job *j)
{
    size_t n = 0;

    for (const struct condition *c = condition_first(&j->waiter); c; c = c->next)
        n += condition_is(c, &condition_after);
    return n;
}

static struct job *next_in_line(void)
{
    unsigned budget = 9;

    return job_of_waiter(admission_next(core.parts.admit, 0, &budget));
}

static void end(struct job *j, enum job_result result)
{
    j->status.state = JOB_DONE;
    j->status.result = (uint8_t)result;
    j->status.has_started = true;
    waiting_leave(&core, j);
    dependencies_follow(&core, j);
}

static void decide(void)
{
    core.held = (struct quota){0};
    assert_int_equal(dependents_run(&tx), 0);
}

/* Instead of those before, which it is told nothing of any more. */
static void it_waits_for_others(void **state)
{
    struct job *a = new_job(8), *b = new_job(9);

    (void)state;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    assert_int_equal(conditions_wait(job), JOB_WAIT_DEPENDENCY);
    assert_true(job->conditioned);
    assert_ptr_equal(next_in_line(), a);
    assert_true(dependencies_is_awaited(&core, 8));
    assert_int_equal(edit_to(job, 9, JOB_AFTER_ANY), 0);
    assert_false(dependencies_is_awaited(&core, 8));
    assert_int_equal(edges_of(job), 1);
    end(a, JOB_RESULT_EXIT);
    decide();
    assert_null(doom_first(core.parts.admit));
    end(b, JOB_RESULT_EXIT);
    decide();
    assert_int_equal(edges_of(job), 0);
    assert_ptr_equal(next_in_line(), job);
    assert_int_equal(job->status.edits, 2);
    assert_int_equal(job->status.edited, 1 << 11);
}

/* Those that can be met no more, and of which nothing has come of it yet, do not count
 * either: the job is saved. */
static void it_waits_for_none(void **state)
{
    struct job *a = new_job(8);

    (void)state;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    end(a, JOB_RESULT_EXIT);
    decide();
    assert_non_null(doom_first(core.parts.admit));
    assert_int_equal(edit_to(job, 0, 0), 0);
    assert_null(doom_first(core.parts.admit));
    assert_ptr_equal(next_in_line(), job);
    assert_false(job->conditioned);
    assert_int_equal(job->spec->nafter, 0);
}

/* One that comes by an edit is doomed as another. */
static void it_waits_in_vain(void **state)
{
    struct job *a = new_job(8);

    (void)state;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    end(a, JOB_RESULT_CANCELLED);
    decide();
    assert_ptr_equal(doom_first(core.parts.admit)->waiter, &job->waiter);
}

/* What has ended as it should keeps nothing; what was known of it is kept with the
 * edit. */
static void what_is_met_already(void **state)
{
    struct job *a = new_job(8);

    (void)state;
    end(a, JOB_RESULT_SUCCESS);
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    assert_int_equal(edges_of(job), 0);
    assert_int_equal(job->spec->after[0].result, JOB_RESULT_SUCCESS);
    assert_ptr_equal(next_in_line(), job);
    also((struct job_edge){
        .job = UNKNOWN, .when = JOB_AFTER_NOTOK, .result = JOB_RESULT_LOST});
    assert_int_equal(edit(job), 0);
    assert_int_equal(edges_of(job), 0);
    assert_int_equal(job->spec->after[1].result, JOB_RESULT_LOST);
}

static void other_conditions_stay(void **state)
{
    const struct hold by = {user.uid, false};

    (void)state;
    (void)new_job(8);
    assert_int_equal(conditions_hold(&core, job, &by), 0);
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    assert_int_equal(edit_to(job, 0, 0), 0);
    assert_true(conditions_is_held(job));
    assert_int_equal(edges_of(job), 0);
}

static void what_is_packed_stays_so(void **state)
{
    struct job_spec *spec = NULL;

    (void)state;
    (void)new_job(8);
    assert_int_equal(job_slumber(&core, job), 0);
    job_spec_unref(job->spec);
    job->spec = NULL;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_START), 0);
    assert_null(job->spec);
    assert_int_equal(packed_unpack(job->packed, &spec), 0);
    assert_int_equal(spec->nafter, 1);
    assert_int_equal(spec->after[0].job, 8);
    job_spec_unref(spec);
}

/* The edges stay, with what is known by now. */
static void what_is_so_already_is_no_fact(void **state)
{
    struct job *a = new_job(8);

    (void)state;
    assert_int_equal(edit_to(job, 0, 0), 0);
    assert_int_equal(job->status.edits, 0);
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    a->status.has_started = true;
    changes->after[0].started = true;
    assert_int_equal(edit(job), 0);
    assert_int_equal(job->status.edits, 1);
    assert_int_equal(edges_of(job), 1);
}

static void what_could_never_start_is_refused(void **state)
{
    struct job *a = new_job(8);

    (void)state;
    end(a, JOB_RESULT_EXIT);
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), -EINVAL);
    assert_string_equal(err.text, "after: job 8 has ended as exit: it could never start");
    assert_int_equal(edit_to(job, OTHERS, JOB_AFTER_OK), -ESTALE);
    assert_int_equal(edit_to(job, UNKNOWN, JOB_AFTER_OK), -ESTALE);
    assert_int_equal(edges_of(job), 0);
    assert_int_equal(job->spec->nafter, 0);
    assert_int_equal(job->status.edits, 0);
    assert_false(dependencies_is_awaited(&core, UNKNOWN));
    assert_int_equal(edit_to(table_get(&core.table, OTHERS), 8, JOB_AFTER_ANY), -EINVAL);
    assert_string_equal(err.text, "after: it is the job of another user");
}

static void checks_change_nothing(void **state)
{
    (void)state;
    (void)new_job(8);
    also((struct job_edge){.job = 8});
    assert_int_equal(edit_by(job, true), 0);
    assert_int_equal(edges_of(job), 0);
    assert_int_equal(job->status.edits, 0);
    assert_int_equal(job->spec->nafter, 0);
    changes->after[0].job = 7;
    assert_int_equal(edit_by(job, true), -EINVAL);
}

static void edges_count_as_bytes(void **state)
{
    struct user *u = users_find(&core.users, user.uid);
    const uint64_t before = u->bytes;

    (void)state;
    (void)new_job(8);
    core.limits.max_bytes_per_user = u->bytes + JOB_EDGE_BYTES;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), -EINVAL);
    assert_non_null(strstr(err.text, "MaxBytesPerUser"));
    core.limits.max_bytes_per_user = u->bytes + 1000;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0);
    assert_true(u->bytes >= before + JOB_EDGE_BYTES);
    core.limits.max_bytes_per_user = u->bytes;
    assert_int_equal(edit_to(job, 8, JOB_AFTER_ANY), 0); /* as many */
    core.limits.max_bytes_per_user = 1;
    assert_int_equal(edit_to(job, 0, 0), 0); /* less */
}

/* --- circles ------------------------------------------------------------------------ */

static void of_itself(void **state)
{
    (void)state;
    assert_int_equal(edit_to(job, 7, JOB_AFTER_ANY), -EINVAL);
    assert_string_equal(err.text, "after: jobs that wait for each other: 7 -> 7");
}

/* Each waits for the one before; the circle is told from the job that is edited on. */
static void chain(uint64_t from, uint64_t to)
{
    for (uint64_t id = from; id <= to; id++)
        assert_int_equal(edit_to(new_job(id), id == from ? 7 : id - 1, JOB_AFTER_OK), 0);
}

static void circles_are_told(void **state)
{
    (void)state;
    chain(11, 18);
    assert_int_equal(edit_to(job, 11, JOB_AFTER_OK), -EINVAL);
    assert_string_equal(err.text, "after: jobs that wait for each other: 7 -> 11 -> 7");
    assert_int_equal(edit_to(job, 17, JOB_AFTER_START), -EINVAL);
    assert_string_equal(err.text,
                        "after: jobs that wait for each other: 7 -> 17 -> 16 -> "
                        "15 -> 14 -> 13 -> 12 -> 11 -> 7");
    assert_int_equal(edit_to(job, 18, JOB_AFTER_OK), -EINVAL);
    assert_string_equal(err.text,
                        "after: jobs that wait for each other: 7 -> 18 -> 17 -> "
                        "16 -> 15 -> 14 -> 13 -> 12 -> ... -> 7");
    assert_int_equal(edges_of(job), 0);
    /* The shortest of them. */
    also((struct job_edge){.job = 12});
    assert_int_equal(edit(job), -EINVAL);
    assert_string_equal(err.text,
                        "after: jobs that wait for each other: 7 -> 12 -> 11 -> 7");
}

/* What is met holds nothing up, and what has ended waits for nothing. */
static void what_is_no_circle(void **state)
{
    struct job *a = new_job(8), *b = new_job(9), *c = new_job(10);

    (void)state;
    assert_int_equal(edit_to(a, 9, JOB_AFTER_START), 0);
    assert_int_equal(edit_to(b, 10, JOB_AFTER_START), 0);
    assert_int_equal(edit_to(c, 8, JOB_AFTER_OK), -EINVAL);
    assert_int_equal(edit_to(job, 8, JOB_AFTER_OK), 0); /* twice the same end */
    also((struct job_edge){.job = 9});
    assert_int_equal(edit(job), 0);
    assert_int_equal(edges_of(job), 2);
    b->status.has_started = true;
    dependencies_follow(&core, b);
    decide();
    assert_int_equal(edges_of(a), 0);
    assert_int_equal(edit_to(c, 8, JOB_AFTER_OK), 0);
}

static void so_many_are_looked_at(void **state)
{
    struct job *last = NULL;

    (void)state;
    /* Of two rows of jobs each one waits for all of the row before. */
    for (uint64_t id = MANY; id < MANY + 64; id++)
        (void)new_job(id);
    for (uint64_t id = MANY + 64; id < MANY + 128; id++) {
        last = new_job(id);
        changes->nafter = 0;
        for (uint64_t of = MANY; of < MANY + 64; of++)
            also((struct job_edge){.job = of});
        assert_int_equal(edit(last), 0);
    }
    assert_int_equal(64 * 64, CIRCLE_LOOKS);
    changes->nafter = 0;
    for (uint64_t id = MANY + 65; id < MANY + 128; id++)
        also((struct job_edge){.job = id});
    also((struct job_edge){.job = MANY});
    assert_int_equal(changes->nafter, 64);
    assert_int_equal(edit(job), 0); /* 64 and 63 times 64 */
    core.held = (struct quota){0};
    also((struct job_edge){.job = MANY + 1});
    assert_int_equal(edit(job), -EINVAL);
    assert_string_equal(err.text,
                        "after: more than 4096 dependencies would have to be followed to "
                        "see that none of them leads back to this job");
    assert_true(core.held.entries >= CIRCLE_LOOKS);
}

/* --- element to element ------------------------------------------------------------- */

static struct each *each_of(const struct job *j)
{
    return j->elements->each;
}

static void also_each(uint64_t id, enum job_after when)
{
    also((struct job_edge){.job = id, .when = when, .each = true});
}

static void look_at_elements(void)
{
    core.held = (struct quota){0};
    assert_int_equal(each_run(&tx), 0);
}

static void elements_wait_for_others(void **state)
{
    struct job *a = new_array(8, N), *b = new_array(9, N), *c = new_array(10, N);

    (void)state;
    also_each(8, JOB_AFTER_ANY);
    assert_int_equal(edit(c), 0);
    look_at_elements();
    assert_int_equal(each_rest(c), 0);
    assert_int_equal(conditions_wait(c), JOB_WAIT_DEPENDENCY);
    assert_int_equal(a->elements->followers.n, 1);
    assert_ptr_equal(each_of(c)->edges[0].job, c);
    changes->nafter = 0;
    also_each(9, JOB_AFTER_ANY);
    assert_int_equal(edit(c), 0);
    look_at_elements();
    assert_int_equal(a->elements->followers.n, 0);
    assert_int_equal(b->elements->followers.n, 1);
    assert_false(dependencies_is_awaited(&core, 8));
    assert_true(dependencies_is_awaited(&core, 9));
    assert_int_equal(conditions_wait(c), JOB_WAIT_DEPENDENCY);
    assert_int_equal(edit_to(b, 10, JOB_AFTER_OK), -EINVAL);
    assert_non_null(strstr(err.text, "9 -> 10 -> 9"));
    assert_int_equal(edit_to(c, 0, 0), 0);
    assert_null(each_of(c));
    assert_int_equal(each_rest(c), N);
    assert_int_equal(conditions_wait(c), JOB_WAIT_NONE);
    assert_int_equal(b->elements->followers.n, 0);
    assert_false(dependencies_is_awaited(&core, 9));
    assert_int_equal(edit_to(b, 10, JOB_AFTER_OK), 0);
}

/* What the store has of elements is the edit's, and stays so for the next job. */
static void elements_that_only_the_store_has(void **state)
{
    struct job *c = new_array(10, N), *d = new_array(11, N);

    (void)state;
    also_each(UNKNOWN, JOB_AFTER_OK);
    assert_int_equal(edit(c), -ESTALE);
    assert_null(each_of(c));
    changes->after[0].result = JOB_RESULT_EXIT;
    changes->after[0].past = past_elements_new(N, N);
    assert_non_null(changes->after[0].past);
    changes->after[0].past->of[1] = JOB_RESULT_SUCCESS << 1;
    assert_int_equal(edit(c), 0);
    assert_int_equal(edit(d), 0);
    look_at_elements();
    assert_int_equal(each_rest(c), 1);
    assert_int_equal(each_next(d), 1);
    assert_int_equal(array_own(c->array, 0)->result, JOB_RESULT_DEPENDENCY);
}

static void arrays_that_do_not_fit(void **state)
{
    struct job *a = new_array(8, N + 1), *c = new_array(10, N);

    (void)state;
    also_each(8, JOB_AFTER_OK);
    assert_int_equal(edit(c), -EINVAL);
    assert_non_null(strstr(err.text, "job 8 has 4 elements, and not 3 as this one"));
    assert_int_equal(edit(job), -EINVAL);
    assert_int_equal(a->elements->followers.n, 0);
    assert_null(each_of(c));
    /* Elements that were called back do not ask again. */
    c->elements->nwaiting = c->tasks = 1;
    assert_int_equal(edit_to(c, 7, JOB_AFTER_OK), -EINPROGRESS);
    c->elements->nwaiting = c->tasks = 0;
    assert_int_equal(edit_to(c, 7, JOB_AFTER_OK), 0);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_waits_for_others),
        T(it_waits_for_none),
        T(it_waits_in_vain),
        T(what_is_met_already),
        T(other_conditions_stay),
        T(what_is_packed_stays_so),
        T(what_is_so_already_is_no_fact),
        T(what_could_never_start_is_refused),
        T(checks_change_nothing),
        T(edges_count_as_bytes),
        T(of_itself),
        T(circles_are_told),
        T(what_is_no_circle),
        T(so_many_are_looked_at),
        T(elements_wait_for_others),
        T(elements_that_only_the_store_has),
        T(arrays_that_do_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

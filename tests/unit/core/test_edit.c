/* A waiting job is edited, under the lock: what of it changes, in which states it is
 * refused, and that nothing has changed where the store, or memory, refuses it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/doom.h"
#include "daemon/core/claims.h"
#include "daemon/core/conditions.h"
#include "daemon/core/edit.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/grant.h"
#include "daemon/job/spec_edit.h"
#include "tests/support/memory_store.h"
#include "tests/support/bare_core.h"
#include "tests/support/unwell.h"

static struct core core;
static struct store *memory;
static struct job *job, *other;
static struct job_spec *changes;
static struct tx tx;
static struct volt_error err;
static const struct job_owner user = {.uid = 1000};

static int append(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit)
{
    (void)s, (void)facts, (void)n, (void)commit;
    return -ENOSPC;
}

static const struct store_log_ops refusing_log = {.append = append,
                                                  .health = unwell_health};
static struct store refusing = {.log = &refusing_log};

static struct job *new_job(uint64_t id, bool array)
{
    struct job_spec *spec = job_spec_new();

    assert_non_null(spec);
    spec->argv = calloc(2, sizeof(char *));
    assert_non_null(spec->argv);
    spec->argv[0] = strdup("true");
    spec->is_array = array;
    spec->array_last = array ? 3 : 0;
    struct job *j = job_new(&core, spec, &user, true);
    job_spec_unref(spec);
    assert_non_null(j);
    users_add(&core.users, users_get(&core.users, user.uid), job_spec_count(j->spec),
              j->bytes);
    assert_int_equal(waiting_assign(&core, j, NULL), 0);
    assert_int_equal(core_enter(&tx, j, id, 1), 0);
    return j;
}

static int setup(void **state)
{
    static struct queue_config configs[2]; /* their lists, none, are taken over */

    (void)state;
    memory = store_memory_new();
    assert_non_null(memory);
    bare_core_init(&core, NULL, memory, 1);
    queue_config_init(&configs[0], "default");
    queue_config_init(&configs[1], "night");
    configs[1].value[QUEUE_DEFAULT_TIMEOUT] = 5;
    configs[1].value[QUEUE_MAX_TIMEOUT] = 11;
    assert_int_equal(queues_configure(&core, configs, 2), 0);
    tx_init(&tx, &core);
    job = new_job(7, false);
    other = new_job(8, false);
    changes = job_spec_new();
    assert_non_null(changes);
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

static int edit(struct job *j, uint64_t tags, bool first)
{
    const struct job_edit e = {
        .changes = changes, .tags = tags, .first = first, .uid = user.uid};

    return core_edit(&tx, j, &e, &user, &err);
}

static struct job *next_in_line(void)
{
    unsigned budget = 9;

    return job_of_waiter(admission_next(core.parts.admit, 0, &budget));
}

static void the_more_urgent_is_next(void **state)
{
    (void)state;
    assert_ptr_equal(next_in_line(), job);
    changes->priority = 5;
    assert_int_equal(edit(other, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_ptr_equal(next_in_line(), other);
    assert_int_equal(other->priority, 5);
    assert_int_equal(other->spec->priority, 5);
    assert_int_equal(other->status.edited, 4);
    assert_int_equal(job->status.edited, 0);
    changes->priority = 0;
    assert_int_equal(edit(other, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_ptr_equal(next_in_line(), job); /* at its own place again */
}

/* Also of two that were put first one after the other. */
static void first_is_next(void **state)
{
    (void)state;
    assert_int_equal(edit(other, 0, true), 0);
    assert_ptr_equal(next_in_line(), other);
    assert_int_equal(other->status.edited, 1);
    assert_int_equal(edit(job, 0, true), 0);
    assert_ptr_equal(next_in_line(), job);
    changes->priority = 1;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    changes->priority = 0;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_ptr_equal(next_in_line(), job); /* what puts it first stays */
    assert_int_equal(users_find(&core.users, user.uid)->front, 2);
}

static void it_is_in_its_new_queue(void **state)
{
    (void)state;
    const uint64_t bytes = users_find(&core.users, user.uid)->bytes;

    changes->queue = strdup("night");
    assert_int_equal(edit(job, SPEC_TAG(TAG_QUEUE), false), 0);
    assert_string_equal(queues_of(&core, job)->as_read.name, "night");
    assert_int_equal(job->spec->queue_timeout_usec, 5);
    assert_int_equal(users_find(&core.users, user.uid)->bytes,
                     bytes + job->bytes - other->bytes);
    assert_true(job->bytes > other->bytes);
    assert_int_equal(users_find(&core.users, user.uid)->jobs, 2);
    free(changes->queue);
    changes->queue = strdup("nowhere");
    assert_int_equal(edit(job, SPEC_TAG(TAG_QUEUE), false), -EINVAL);
    assert_non_null(strstr(err.text, "there is no queue nowhere"));
    assert_string_equal(queues_of(&core, job)->as_read.name, "night");
}

/* A packed one stays packed. */
static void what_is_packed_stays_so(void **state)
{
    struct job_spec *spec = NULL;

    (void)state;
    assert_int_equal(job_slumber(&core, job), 0);
    job_spec_unref(job->spec);
    job->spec = NULL;
    changes->priority = -6;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_null(job->spec);
    assert_int_equal(job->priority, -6);
    assert_int_equal(packed_unpack(job->packed, &spec), 0);
    assert_int_equal(spec->priority, -6);
    job_spec_unref(spec);
    assert_ptr_equal(next_in_line(), other);
}

#define HOUR UINT64_C(3600000000)

/* In the line, on a condition, and back; the deadline with it. */
static void it_waits_by_its_new_times(void **state)
{
    const uint64_t now = jobs_now_usec();

    (void)state;
    job->status.submitted_usec = now - HOUR;
    changes->delay_usec = HOUR;
    changes->at_usec = now + 3 * HOUR;
    changes->start_by_usec = now + 4 * HOUR;
    assert_int_equal(edit(job, TAGS_OF_TIME, false), 0);
    assert_int_equal(conditions_wait(job), JOB_WAIT_TIME);
    assert_true(conditions_time_left(&core, job) > 2 * HOUR);
    assert_true(doom_start_by_of(core.parts.admit, &job->waiter) == now + 4 * HOUR);
    assert_true(job->spec->delay_usec >= 2 * HOUR && job->spec->delay_usec < 3 * HOUR);
    assert_true(job->conditioned);
    assert_ptr_equal(next_in_line(), other);
    assert_int_equal(admission_count(core.parts.admit).unmet, 1);
    changes->at_usec = 0;
    assert_int_equal(edit(job, SPEC_TAG(TAG_AT), false), 0);
    const uint64_t left = conditions_time_left(&core, job);
    assert_true(left > HOUR / 2 && left <= HOUR); /* the delay, as it was */
    assert_true(doom_start_by_of(core.parts.admit, &job->waiter) == now + 4 * HOUR);
    changes->delay_usec = changes->start_by_usec = 0;
    assert_int_equal(edit(job, TAGS_OF_TIME, false), 0);
    assert_int_equal(conditions_wait(job), JOB_WAIT_NONE);
    assert_true(doom_start_by_of(core.parts.admit, &job->waiter) == TIMED_NEVER);
    assert_false(job->conditioned);
    assert_int_equal(admission_count(core.parts.admit).unmet, 0);
    assert_ptr_equal(next_in_line(), job);
}

/* What else it waits for stays. */
static void other_conditions_stay(void **state)
{
    const struct hold by = {user.uid, false};

    (void)state;
    assert_int_equal(conditions_hold(&core, job, &by), 0);
    changes->at_usec = jobs_now_usec() + HOUR;
    assert_int_equal(edit(job, SPEC_TAG(TAG_AT), false), 0);
    assert_true(conditions_is_held(job));
    changes->at_usec = 0;
    assert_int_equal(edit(job, SPEC_TAG(TAG_AT), false), 0);
    assert_true(conditions_is_held(job));
    assert_ptr_equal(next_in_line(), other);
    conditions_release(&core, job);
    assert_ptr_equal(next_in_line(), job);
}

static void it_claims_something_else(void **state)
{
    struct job_claim *claims = calloc(1, sizeof(*claims));
    size_t n;

    (void)state;
    assert_non_null(claims);
    claims->name = strdup("db");
    claims->mode = JOB_CLAIM_PERMITS;
    claims->permits = 2;
    claims->capacity = 3;
    changes->claims = claims;
    changes->nclaims = 1;
    assert_int_equal(edit(job, job_edit_tags(7), false), 0);
    assert_string_equal(job_edit_names[7], "claims");
    assert_true(job->claims && claims_has(job, "db"));
    assert_int_equal(job->spec->claims[0].had, 3);
    claims->permits = 4;
    assert_int_equal(edit(other, job_edit_tags(7), false), -EINVAL);
    assert_non_null(strstr(err.text, "has 3 permits, and 4 are claimed"));
    assert_false(other->claims);
    changes->nclaims = 0;
    assert_int_equal(edit(job, job_edit_tags(7), false), 0);
    changes->nclaims = 1;
    assert_false(job->claims);
    assert_int_equal((admission_claims(&job->waiter, &n), n), 0);
    job->tasks = 1; /* one that was called back is ready: it keeps what it is made from */
    assert_int_equal(edit(job, job_edit_tags(7), false), -EINPROGRESS);
    changes->name = strdup("x");
    assert_int_equal(edit(job, SPEC_TAG(TAG_NAME), false), -EINPROGRESS);
    assert_int_equal(edit(job, SPEC_TAG(TAG_OUTPUT), false), -EINPROGRESS);
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    job->tasks = 0;
    job->kind = JOB_KIND_SLEEP;
    assert_int_equal(edit(job, job_edit_tags(7), false), -EINVAL);
    job->kind = JOB_KIND_EXEC;
}

static bool is_found_as(const char *name)
{
    const uint32_t tag = index_tag_of_name(&core, user.uid, name);

    return postings_next(&core.index.keys, tag, job->id - 1) == job->id;
}

static void it_is_found_by_its_new_name(void **state)
{
    (void)state;
    changes->name = strdup("other");
    assert_true(is_found_as("true"));
    assert_int_equal(edit(job, SPEC_TAG(TAG_NAME), false), 0);
    assert_true(is_found_as("other") && !is_found_as("true"));
}

static void its_queue_limits_its_time(void **state)
{
    (void)state;
    changes->queue = strdup("night");
    assert_int_equal(edit(job, SPEC_TAG(TAG_QUEUE), false), 0);
    changes->timeout_usec = 7;
    assert_int_equal(edit(job, job_edit_tags(8), false), 0);
    assert_string_equal(job_edit_names[8], "timeout_usec");
    assert_int_equal(job_spec_timeout(job->spec), 7);
    changes->timeout_usec = 0;
    assert_int_equal(edit(job, job_edit_tags(8), false), 0);
    assert_int_equal(job_spec_timeout(job->spec), 5);
    changes->timeout_usec = 12;
    assert_int_equal(edit(job, job_edit_tags(8), false), -EINVAL);
    assert_non_null(strstr(err.text, "queue night allows at most"));
}

static void nothing_changes_where_the_store_refuses_it(void **state)
{
    const struct job_spec *spec = job->spec;

    (void)state;
    core.parts.store = &refusing;
    changes->priority = -1;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), true), -ENOSPC);
    assert_ptr_equal(job->spec, spec);
    assert_int_equal(job->priority, 0);
    assert_int_equal(job->status.edited, 0);
    assert_int_equal(users_find(&core.users, user.uid)->front, 0);
    assert_ptr_equal(next_in_line(), job);
    core.parts.store = memory;
}

static void a_full_store_is_asked_to_keep_none(void **state)
{
    (void)state;
    unwell_put(memory);
    unwell.full = true;
    changes->priority = -1;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -ENOSPC);
    assert_int_equal(edit(other, 0, true), -ENOSPC);
    assert_ptr_equal(next_in_line(), job);
    unwell = (struct store_health){.failing = true};
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -EIO);
    unwell = (struct store_health){.full = false};
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
}

/* Nor is it counted among the edits. */
static void what_is_so_already_is_no_fact(void **state)
{
    (void)state;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_int_equal(job->status.edits, 0);
    assert_int_equal(job->status.edited, 0);
    changes->priority = 2;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_int_equal(job->status.edits, 1);
    assert_int_equal(edit(other, 0, true), 0);
    assert_int_equal(edit(other, 0, true), 0);
    assert_int_equal(other->status.edits, 1);
    assert_int_equal(users_find(&core.users, user.uid)->front, 1);
    assert_int_equal(edit(other, SPEC_TAG(TAG_PRIORITY), true), 0);
    assert_int_equal(other->status.edits, 2);
    assert_int_equal(edit(job, 0, true), 0); /* another is first */
    assert_int_equal(job->status.edits, 2);
    assert_ptr_equal(next_in_line(), job);
}

/* What is so already is taken all the same. */
static void a_job_is_edited_so_often_at_most(void **state)
{
    struct job *array = new_job(9, true);

    (void)state;
    for (int i = 1; i <= JOB_EDITS_MAX; i++) {
        changes->priority = i % 2 + 1;
        assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
        assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), 0);
    }
    changes->priority = 7;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -EINVAL);
    assert_non_null(strstr(err.text, "has been edited 1000 times"));
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EINVAL);
    assert_int_equal(job->priority, 1);
    assert_int_equal(array->priority, 1);
    changes->priority = 1;
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
}

static void what_does_not_wait_is_refused(void **state)
{
    struct work work = {.core = &core, .job = job, .offset = NO_OFFSET};
    static const struct {
        enum job_state state;
        uint32_t attempt;
        int result;
    } rows[] = {
        {JOB_STARTING, 1, -EINPROGRESS}, {JOB_RUNNING, 1, -EBUSY},
        {JOB_PAUSED, 1, -EBUSY},         {JOB_STOPPING, 1, -EBUSY},
        {JOB_DONE, 1, -EALREADY},        {JOB_QUEUED, 1, -EBUSY}, /* between attempts */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        job->status.state = (uint8_t)rows[i].state;
        job->status.attempt = rows[i].attempt;
        assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), rows[i].result);
    }
    job->status.state = JOB_QUEUED;
    job->status.attempt = 0;
    job->live = &work;
    grant_set_early(&core, &work, true);
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
    grant_set_early(&core, &work, false);
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), 0);
    grant_take(&core, &work);
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
    grant_end(&core, &work, NEVER_RAN);
    job->live = NULL;
    waiting_forget(&core, job); /* a task that waits for nothing */
    assert_int_equal(edit(job, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
}

static void an_array_that_waits_as_a_whole(void **state)
{
    struct job *array = new_job(9, true);
    struct work work = {.core = &core, .job = array};

    (void)state;
    changes->priority = 9;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), 0);
    assert_ptr_equal(next_in_line(), array);
    array->tasks = 1; /* an element has a task, which waits for no slot */
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
    grant_wait(&core, &work); /* it does */
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), 0);
    changes->name = strdup("x");
    assert_int_equal(edit(array, SPEC_TAG(TAG_NAME), false), -EINPROGRESS);
    array->elements->nearly = 1;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
    array->elements->nearly = 0;
    array->array->by_state[JOB_STARTING] = 1;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EINPROGRESS);
    array->array->has_begun = true;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EBUSY);
    array->array->has_begun = false;
    array->array->cancelled_usec = 1;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EBUSY);
    array->array->cancelled_usec = 0;
    array->array->by_state[JOB_STARTING] = 0;
    array->array->by_state[JOB_DONE] = array->array->total;
    assert_int_equal(edit(array, SPEC_TAG(TAG_PRIORITY), false), -EALREADY);
    array->tasks = 0;
}

static int replay(struct job *j, const struct job_changes *c)
{
    struct job_edits all = {.changes = NULL};
    int r = job_edits_add(&all, c);

    if (r == 0)
        r = core_edit_again(&core, j, &all);
    job_edits_fini(&all);
    return r;
}

/* As it is, with its bytes, after a restart. */
static void it_is_replayed(void **state)
{
    struct pack p = {0};

    (void)state;
    changes->priority = 8;
    job_edit_pack(changes, SPEC_TAG(TAG_PRIORITY), &p);
    struct job_changes c = {.front = 3, .bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(replay(job, &c), 0);
    assert_int_equal(job->priority, 8);
    assert_int_equal(job->spec->priority, 8);
    assert_true(job->waiter.rank == WAITING_FRONT(3));
    assert_true(WAITING_FRONT(3) < WAITING_RANK(0));
    c.front = 0;
    assert_int_equal(job_slumber(&core, other), 0);
    assert_int_equal(replay(other, &c), 0);
    assert_int_equal(other->priority, 8);
    assert_true(other->waiter.rank == WAITING_RANK(8));
    c.n--;
    assert_int_equal(replay(job, &c), -EBADMSG);
    assert_false(job->claims);
    changes->claims = calloc(1, sizeof(*changes->claims));
    assert_non_null(changes->claims);
    changes->claims->name = strdup("db");
    changes->nclaims = 1;
    pack_clear(&p);
    job_edit_pack(changes, job_edit_tags(7), &p);
    c = (struct job_changes){.bytes = p.bytes, .n = (uint32_t)p.n};
    assert_int_equal(replay(job, &c), 0);
    assert_true(job->claims);
    pack_fini(&p);
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_more_urgent_is_next),
        T(first_is_next),
        T(it_is_in_its_new_queue),
        T(what_is_packed_stays_so),
        T(it_waits_by_its_new_times),
        T(other_conditions_stay),
        T(it_claims_something_else),
        T(it_is_found_by_its_new_name),
        T(its_queue_limits_its_time),
        T(nothing_changes_where_the_store_refuses_it),
        T(a_full_store_is_asked_to_keep_none),
        T(what_is_so_already_is_no_fact),
        T(a_job_is_edited_so_often_at_most),
        T(what_does_not_wait_is_refused),
        T(an_array_that_waits_as_a_whole),
        T(it_is_replayed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

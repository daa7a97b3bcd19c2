/* Keys that are claimed by submissions on their way, while others want them: nobody waits
 * for ever, and no key is lost. One worker: each submission does a slice, then others do. */
#include "tests/support/lone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include "daemon/admit/named.h"
#include "daemon/core/state.h"
#include "daemon/job/env.h"
#include "daemon/submit/submission.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"

enum { MANY = 1000 }; /* several slices */

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static struct volt_runtime *rt;
static struct core *core;

static int set_up_with(uint64_t keep_ended, uint64_t max_keys)
{
    struct config config = managed_config();

    config.keep_ended_jobs = keep_ended;
    config.max_keys_per_user = max_keys;
    return managed_up(&config, &rt, &core);
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(10 * MANY, 10 * MANY);
}

static int set_up_forgetful(void **state)
{
    (void)state;
    return set_up_with(1, 10 * MANY);
}

static int set_up_for_two_keys(void **state)
{
    (void)state;
    return set_up_with(1, 2);
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

/* --- submissions -------------------------------------------------------------------- */

struct batch {
    struct jobs_submit_item item[MANY];
    size_t n;
    bool atomic;
    struct volt_join join;
};

static void add(struct batch *b, enum job_kind kind, const char *key,
                enum job_on_exists on_exists)
{
    struct job_spec *s = job_spec_new();

    s->kind = kind;
    s->duration_usec = kind == JOB_KIND_SLEEP ? UINT64_C(3600000000) : 0;
    s->key = strdup(key);
    s->on_exists = on_exists;
    b->item[b->n++].spec = s;
}

static void add_number(struct batch *b, unsigned number)
{
    char key[16];

    (void)snprintf(key, sizeof(key), "%u", number);
    add(b, JOB_KIND_NOOP, key, JOB_ON_EXISTS_SAME);
}

static void begin(struct batch *b)
{
    struct jobs_submit *s = volt_task_new(rt, &submission_type);

    assert_non_null(s);
    jobs_submit_init(s, core, &me.who, b->item, b->n, b->atomic);
    lone_spawn(s, &b->join);
}

static void end(struct batch *b)
{
    assert_int_equal(lone_join(&b->join), 0);
}

static void batch_fini(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        job_spec_unref(b->item[i].spec);
        free(b->item[i].ret_text);
    }
    *b = (struct batch){.n = 0};
}

/* The job of that key, and whether it is a new one. */
static uint64_t submit(enum job_kind kind, const char *key, enum job_on_exists on_exists,
                       bool *ret_new)
{
    struct batch b = {.n = 0};

    add(&b, kind, key, on_exists);
    begin(&b);
    end(&b);
    uint64_t id = b.item[0].ret_id;
    assert_int_equal(b.item[0].ret_error, 0);
    *ret_new = !b.item[0].ret_existed;
    batch_fini(&b);
    return id;
}

static void await_end(uint64_t id)
{
    struct job_view v;

    for (bool ended = false; !ended; (void)poll(NULL, 0, 1)) {
        assert_int_equal(query_get(core, &me, id, JOB_NO_INDEX, &v), 0);
        ended = v.status.state == JOB_DONE;
        job_view_fini(&v);
    }
}

static struct batch a, b;

/* Each claims what the other wants next: one of them gives its claims back. */
static void batches_with_the_same_keys_in_opposite_orders(void **state)
{
    struct lone_hold hold;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        add_number(&a, i);
        add_number(&b, MANY - 1 - i);
    }
    lone_hold_begin(rt, &hold);
    begin(&a);
    begin(&b);
    lone_hold_end(&hold);
    end(&a);
    end(&b);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(a.item[i].ret_error, 0);
        assert_int_equal(a.item[i].ret_id, b.item[MANY - 1 - i].ret_id);
        assert_int_equal(a.item[i].ret_existed + b.item[MANY - 1 - i].ret_existed, 1);
    }
    batch_fini(&a);
    batch_fini(&b);
}

/* What waits for the claim of a batch that comes to nothing has the key then. */
static void a_claim_that_comes_to_nothing_is_told(void **state)
{
    struct lone_hold hold;
    bool fresh;

    (void)state;
    (void)submit(JOB_KIND_SLEEP, "taken", JOB_ON_EXISTS_SAME, &fresh);
    for (unsigned i = 0; i < MANY - 1; i++)
        add_number(&a, i);
    add(&a, JOB_KIND_NOOP, "taken", JOB_ON_EXISTS_REJECT);
    a.atomic = true;
    for (unsigned i = 0; i < MANY; i++) /* as long: the first of them is claimed then */
        add_number(&b, i == 0 ? 0 : MANY + i);
    lone_hold_begin(rt, &hold);
    begin(&a);
    begin(&b);
    lone_hold_end(&hold);
    end(&a);
    end(&b);
    assert_int_equal(a.item[0].ret_error, -ECANCELED);
    assert_int_equal(b.item[0].ret_error, 0);
    assert_false(b.item[0].ret_existed);
    batch_fini(&a);
    batch_fini(&b);
}

/* Whether the key is known; if so, a submission of this age claims it from now on, 0: none. */
static bool claim_by_hand(const char *key, uint32_t by)
{
    core_lock(core);
    struct keys_entry *e =
        keys_find(&core->keys, keys_name(&core->keys, me.who.uid, key));
    if (e)
        e->claim = by;
    core_unlock(core);
    return e;
}

static void free_key(const char *key, uint64_t id)
{
    core_lock(core);
    keys_free(&core->keys, keys_name(&core->keys, me.who.uid, key), id);
    core_unlock(core);
}

static void a_key_goes_with_the_job_that_has_it(void **state)
{
    bool fresh;

    (void)state;
    const uint64_t id = submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, &fresh);
    await_end(id);
    free_key("k", id + 1);
    free_key("l", id);
    assert_true(claim_by_hand("k", 0));
    free_key("k", id);
    assert_false(claim_by_hand("k", 0));
}

/* It stays while another submission claims it, but never stands for the job again. */
static void a_key_that_is_being_taken_over_has_lost_its_job(void **state)
{
    bool fresh;

    (void)state;
    const uint64_t id = submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, &fresh);
    await_end(id);
    assert_true(claim_by_hand("k", UINT32_MAX));
    free_key("k", id);
    core_lock(core);
    struct keys_entry *e =
        keys_find(&core->keys, keys_name(&core->keys, me.who.uid, "k"));
    assert_non_null(e);
    assert_int_equal(e->id, 0);
    keys_remove(&core->keys, e);
    core_unlock(core);
}

/* A key goes with the job that has it, not with one that had it. */
static void a_key_outlives_the_job_that_had_it_before(void **state)
{
    bool fresh;
    uint64_t next;

    (void)state;
    await_end(submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_COALESCE, &fresh));
    next = submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_COALESCE, &fresh);
    assert_true(fresh);
    await_end(submit(JOB_KIND_NOOP, "l", JOB_ON_EXISTS_SAME, &fresh)); /* in its place */
    assert_int_equal(submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh), next);
    assert_false(fresh);
}

static int error_of(enum job_kind kind, const char *key, enum job_on_exists on_exists,
                    const char *text);

/* Those of jobs that have ended, and have left memory, count as well. What has its key is
 * answered all the same, or takes it over. */
static void keys_of_a_user_are_limited(void **state)
{
    bool fresh;

    (void)state;
    const uint64_t k = submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, &fresh);
    await_end(k);
    await_end(submit(JOB_KIND_NOOP, "l", JOB_ON_EXISTS_SAME, &fresh));
    assert_int_equal(
        error_of(JOB_KIND_NOOP, "m", JOB_ON_EXISTS_SAME, "2 keys (MaxKeysPerUser)"),
        -EDQUOT);
    assert_int_equal(submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, &fresh), k);
    assert_false(fresh);
    await_end(submit(JOB_KIND_NOOP, "l", JOB_ON_EXISTS_REPLACE, &fresh));
    assert_true(fresh);
    free_key("k", k);
    await_end(submit(JOB_KIND_NOOP, "m", JOB_ON_EXISTS_SAME, &fresh));
    assert_true(fresh);
}

/* --- queues and claims that take no more -------------------------------------------- */

static void drain_default(bool drained, uint64_t default_timeout)
{
    core_lock(core);
    queues_first(core)->hand.drained = drained;
    queues_first(core)->as_read.value[QUEUE_DEFAULT_TIMEOUT] = default_timeout;
    core_unlock(core);
}

/* What is said of the only item of a batch. */
static int error_of(enum job_kind kind, const char *key, enum job_on_exists on_exists,
                    const char *text)
{
    add(&a, kind, key, on_exists);
    begin(&a);
    end(&a);
    const int r = a.item[0].ret_error;
    assert_true(r == 0 || strstr(a.item[0].ret_text, text));
    batch_fini(&a);
    return r;
}

/* Nothing new is taken then. */
static void the_same_key_again_is_the_same_job_whatever_its_queue_says(void **state)
{
    bool fresh;

    (void)state;
    const uint64_t id = submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh);
    drain_default(true, 1000000);
    assert_int_equal(submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh), id);
    assert_false(fresh);
    assert_int_equal(submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_COALESCE, &fresh), id);
    assert_false(fresh);
    assert_int_equal(
        error_of(JOB_KIND_SLEEP, "l", JOB_ON_EXISTS_SAME, "queue default is drained"),
        -EBUSY);
    assert_int_equal(
        error_of(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_REPLACE, "queue default is drained"),
        -EBUSY);
    assert_int_equal(error_of(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, "spec differs"),
                     -EEXIST);
    drain_default(false, 0);
    assert_int_equal(submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh), id);
    (void)submit(JOB_KIND_NOOP, "l", JOB_ON_EXISTS_SAME, &fresh);
    assert_true(fresh);
}

static uint64_t submit_claim(uint64_t permits, uint64_t capacity, const char *key,
                             int *ret_error)
{
    struct batch x = {.n = 0};

    add(&x, JOB_KIND_SLEEP, key, JOB_ON_EXISTS_SAME);
    x.item[0].spec->claims = calloc(1, sizeof(struct job_claim));
    x.item[0].spec->nclaims = 1;
    x.item[0].spec->claims[0] = (struct job_claim){.name = strdup("s"),
                                                   .mode = JOB_CLAIM_PERMITS,
                                                   .permits = permits,
                                                   .capacity = capacity};
    begin(&x);
    end(&x);
    const uint64_t id = x.item[0].ret_id;
    *ret_error = x.item[0].ret_error;
    batch_fini(&x);
    return id;
}

/* The semaphore has become smaller than what it claims. */
static void the_same_key_again_is_the_same_job_whatever_its_claims_are(void **state)
{
    int error;

    (void)state;
    const uint64_t id = submit_claim(2, 2, "k", &error);
    assert_int_equal(error, 0);
    core_lock(core);
    admission_resize_named(core->parts.admit,
                           named_find(core->parts.admit, me.who.uid, "s"), 1, 0);
    core_unlock(core);
    assert_int_equal(submit_claim(2, 2, "k", &error), id);
    assert_int_equal(error, 0);
    assert_int_equal(submit_claim(2, 2, "l", &error), 0);
    assert_true(error < 0);
}

/* It waits for a job that nobody knows. */
static void a_new_key_of_what_waits_for_nothing_is_refused(void **state)
{
    bool fresh;

    (void)state;
    for (int again = 0; again < 2; again++) {
        add(&a, JOB_KIND_NOOP, "k", again ? JOB_ON_EXISTS_REPLACE : JOB_ON_EXISTS_SAME);
        a.item[0].spec->after = calloc(1, sizeof(struct job_edge));
        a.item[0].spec->nafter = 1;
        a.item[0].spec->after[0].job = 999;
        begin(&a);
        end(&a);
        assert_int_equal(a.item[0].ret_error, -ENOENT);
        assert_string_equal(a.item[0].ret_text, "after: job 999 is not known");
        batch_fini(&a);
        (void)submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh);
        assert_int_equal(fresh, !again);
    }
}

static struct job_edge *wait_for_key(const char *key)
{
    struct job_spec *s = a.item[a.n - 1].spec;

    s->after = calloc(1, sizeof(struct job_edge));
    s->nafter = 1;
    s->after[0] = (struct job_edge){.key = strdup(key), .when = JOB_AFTER_ANY};
    return s->after;
}

static void drop_key(void)
{
    free(a.item[a.n - 1].spec->key);
    a.item[a.n - 1].spec->key = NULL;
}

/* The one that has it now, of this user; not one that is only on its way. */
static void a_job_is_waited_for_by_its_key(void **state)
{
    static const char *const unknown = "after: none of your jobs has the key \"k\"";
    struct job_edge *edge;
    bool fresh;

    (void)state;
    for (int keyed = 0; keyed < 2; keyed++) {
        add_number(&a, 0);
        edge = wait_for_key("k");
        if (!keyed)
            drop_key();
        begin(&a);
        end(&a);
        assert_int_equal(a.item[0].ret_error, -ENOENT);
        assert_string_equal(a.item[0].ret_text, unknown);
        assert_int_equal(edge->job, 0);
        batch_fini(&a);
    }
    const uint64_t id = submit(JOB_KIND_SLEEP, "k", JOB_ON_EXISTS_SAME, &fresh);
    add_number(&a, 1);
    edge = wait_for_key("k");
    begin(&a);
    end(&a);
    assert_int_equal(a.item[0].ret_error, 0);
    assert_int_equal(edge->job, id);
    assert_string_equal(edge->key, "k"); /* it is compared */
    batch_fini(&a);
    assert_true(claim_by_hand("k", UINT32_MAX)); /* the earlier job has it still */
    add_number(&a, 2);
    edge = wait_for_key("k");
    drop_key();
    begin(&a);
    end(&a);
    assert_int_equal(edge->job, id);
    assert_null(edge->key);
    batch_fini(&a);
    core_lock(core);
    keys_find(&core->keys, keys_name(&core->keys, me.who.uid, "k"))->id = 0;
    core_unlock(core);
    add_number(&a, 3);
    (void)wait_for_key("k");
    begin(&a);
    end(&a);
    assert_string_equal(a.item[0].ret_text, unknown);
    batch_fini(&a);
    assert_true(claim_by_hand("k", 0));
}

/* Of a batch, that item; of one that is all or none, all. */
static void a_new_key_of_a_batch_is_refused_by_its_queue(void **state)
{
    bool fresh;

    (void)state;
    const uint64_t id = submit(JOB_KIND_NOOP, "0", JOB_ON_EXISTS_SAME, &fresh);
    drain_default(true, 0);
    for (int atomic = 0; atomic < 2; atomic++) {
        for (unsigned i = 0; i < 3; i++)
            add_number(&a, i);
        a.atomic = atomic;
        begin(&a);
        end(&a);
        assert_int_equal(a.item[0].ret_error, 0);
        assert_int_equal(a.item[0].ret_id, id);
        assert_int_equal(a.item[1].ret_error, -EBUSY);
        assert_int_equal(a.item[2].ret_error, -EBUSY);
        batch_fini(&a);
    }
    await_end(id);
    core_lock(core);
    const uint64_t jobs = users_find(&core->users, me.who.uid)->jobs;
    core_unlock(core);
    assert_int_equal(jobs, 0);
}

/* --- large specs -------------------------------------------------------------------- */

enum { LARGE = 100 << 10, LARGE_SPECS = 4 };

struct watched {
    struct jobs_submit submit;
    size_t *most; /* bytes that one poll has hashed */
};

static enum volt_poll watched_poll(struct volt_cx *cx, void *state)
{
    struct watched *w = state;
    enum volt_poll r = jobs_submit_poll(cx, &w->submit);
    const struct submission *p = w->submit.pending;

    if (p && p->bodies.bytes > *w->most)
        *w->most = p->bodies.bytes;
    return r;
}

static void watched_drop(void *state)
{
    jobs_submit_fini(&((struct watched *)state)->submit);
}

static const struct volt_task_type watched_type = {
    "watched submission", sizeof(struct watched), watched_poll, watched_drop, NULL};

/* The same environment but for its first letter. */
static struct job_env *large_env(char first)
{
    char *text = malloc(LARGE);

    assert_non_null(text);
    memset(text, 'x', LARGE - 1);
    memcpy(text, "A=", 2);
    text[2] = first;
    text[LARGE - 1] = '\0';
    struct job_env *env = job_env_new((char *const[]){text, NULL});
    free(text);
    assert_non_null(env);
    return env;
}

/* A message of many environments does not keep a worker: a poll hashes one of them. */
static void large_specs_are_hashed_in_portions(void **state)
{
    size_t most = 0;

    (void)state;
    for (unsigned i = 0; i < LARGE_SPECS; i++) {
        add(&a, JOB_KIND_NOOP, (char[]){(char)('k' + i), '\0'}, JOB_ON_EXISTS_SAME);
        a.item[i].spec->env = large_env((char)('a' + i));
    }
    struct watched *w = volt_task_new(rt, &watched_type);
    assert_non_null(w);
    w->most = &most;
    jobs_submit_init(&w->submit, core, &me.who, a.item, a.n, false);
    lone_spawn(w, &a.join);
    end(&a);
    for (size_t i = 0; i < LARGE_SPECS; i++)
        assert_int_equal(a.item[i].ret_error, 0);
    const size_t one = job_env_bytes(a.item[0].spec->env);
    assert_in_range(most, one, 2 * one);
    batch_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_with_the_same_keys_in_opposite_orders,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_comes_to_nothing_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_goes_with_the_job_that_has_it,
                                        set_up_forgetful, tear_down),
        cmocka_unit_test_setup_teardown(a_key_that_is_being_taken_over_has_lost_its_job,
                                        set_up_forgetful, tear_down),
        cmocka_unit_test_setup_teardown(keys_of_a_user_are_limited, set_up_for_two_keys,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_outlives_the_job_that_had_it_before,
                                        set_up_forgetful, tear_down),
        cmocka_unit_test_setup_teardown(
            the_same_key_again_is_the_same_job_whatever_its_queue_says, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            the_same_key_again_is_the_same_job_whatever_its_claims_are, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(a_new_key_of_what_waits_for_nothing_is_refused,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_is_waited_for_by_its_key, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_new_key_of_a_batch_is_refused_by_its_queue,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_specs_are_hashed_in_portions, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

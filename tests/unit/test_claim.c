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
#include "daemon/exec/submission.h"
#include "tests/support/managed.h"
#include "tests/support/submission.h"

enum { MANY = 1000 }; /* several slices */

static const struct job_owner me = {.uid = 1234, .gid = 1234, .pid = 1};
static struct volt_runtime *rt;
static struct manager *m;

static int set_up_with(uint64_t keep_ended, uint64_t keep_history)
{
    struct config config = managed_config();

    if (managed_make(NULL) < 0)
        return -1;
    config.keep_ended_jobs = keep_ended;
    config.keep_history = keep_history;
    rt = lone_runtime();
    m = managed_start(&config, rt);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_with(10 * MANY, 10 * MANY);
}

static int set_up_forgetful(void **state)
{
    (void)state;
    return set_up_with(1, 0);
}

static int set_up_for_one_key(void **state)
{
    (void)state;
    return set_up_with(1, 1);
}

static int tear_down(void **state)
{
    managed_stop(m, rt);
    return managed_remove(state);
}

/* --- submissions -------------------------------------------------------------------- */

struct batch {
    struct manager_submit_item item[MANY];
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
    struct manager_submit *s = volt_task_new(rt, &submission_type);

    assert_non_null(s);
    manager_submit_init(s, m, &me, b->item, b->n, b->atomic);
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
        assert_int_equal(manager_get(m, &me, id, JOB_NO_INDEX, &v), 0);
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

/* Whether the key is known; if so, that submission claims it from now on, NULL: none. */
static bool claim_by_hand(const char *key, const struct submission *by)
{
    manager_lock(m);
    struct keys_entry *e = keys_find(&m->keys, keys_name(&m->keys, me.uid, key));
    if (e)
        e->claim = by;
    manager_unlock(m);
    return e;
}

/* Its job is forgotten, and the history has room for one key: not for this one. */
static void a_key_that_is_being_taken_over_does_not_go(void **state)
{
    const struct submission another = {.age = 0};
    bool fresh;

    (void)state;
    await_end(submit(JOB_KIND_NOOP, "k", JOB_ON_EXISTS_SAME, &fresh));
    assert_true(claim_by_hand("k", &another));
    for (unsigned i = 0; i < 3; i++) {
        char key[2] = {(char)('l' + i), '\0'};

        await_end(submit(JOB_KIND_NOOP, key, JOB_ON_EXISTS_SAME, &fresh));
        assert_true(fresh);
    }
    assert_true(claim_by_hand("k", NULL));
    assert_false(claim_by_hand("l", NULL)); /* that one went */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(batches_with_the_same_keys_in_opposite_orders,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_claim_that_comes_to_nothing_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_key_that_is_being_taken_over_does_not_go,
                                        set_up_for_one_key, tear_down),
        cmocka_unit_test_setup_teardown(a_key_outlives_the_job_that_had_it_before,
                                        set_up_forgetful, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Jobs that wait for others of their submission: by which ids, with which keys, and at what
 * cost. One worker: each submission does a slice, then others do. */
#include "tests/support/lone.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/core/state.h"
#include "daemon/submit/submission.h"
#include "tests/support/managed.h"

enum { MANY = 4 * JOBS_SLICE };

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static struct volt_runtime *rt;
static struct core *core;

static int set_up(void **state)
{
    (void)state;
    return managed_up_on_disk(1, &rt, &core);
}

static int tear_down(void **state)
{
    (void)state;
    return managed_down(core, rt);
}

/* --- submissions -------------------------------------------------------------------- */

struct batch {
    struct jobs_submit_item item[MANY];
    size_t n, looked, polls; /* looked: by the poll that looked at most */
    struct volt_join join;
};

struct watched {
    struct jobs_submit submit;
    struct quota quota; /* of a poll */
    struct batch *batch;
};

static enum volt_poll watched_poll(struct volt_cx *cx, void *state)
{
    struct watched *w = state;

    w->quota = (struct quota){0};
    w->submit.quota = &w->quota;
    enum volt_poll r = jobs_submit_poll(cx, &w->submit);
    w->batch->polls++;
    if (w->quota.entries > w->batch->looked)
        w->batch->looked = w->quota.entries;
    return r;
}

static void watched_drop(void *state)
{
    jobs_submit_fini(&((struct watched *)state)->submit);
}

static const struct volt_task_type watched_type = {
    "watched submission", sizeof(struct watched), watched_poll, watched_drop, NULL};

/* Its item that waits for the first `nafter` of those before it, to end. */
static struct job_spec *add(struct batch *b, enum job_kind kind, const char *key,
                            size_t nafter)
{
    struct job_spec *s = job_spec_new();

    assert_non_null(s);
    s->kind = kind;
    s->duration_usec = kind == JOB_KIND_SLEEP ? UINT64_C(3600000000) : 0;
    s->key = key ? strdup(key) : NULL;
    s->after = calloc(nafter + 1, sizeof(*s->after));
    for (; s->nafter < nafter; s->nafter++)
        s->after[s->nafter] =
            (struct job_edge){.item = s->nafter + 1, .when = JOB_AFTER_ANY};
    b->item[b->n++].spec = s;
    return s;
}

static void begin(struct batch *b)
{
    struct watched *w = volt_task_new(rt, &watched_type);

    assert_non_null(w);
    w->batch = b;
    jobs_submit_init(&w->submit, core, &me.who, b->item, b->n, true);
    lone_spawn(w, &b->join);
}

static void end(struct batch *b)
{
    assert_int_equal(lone_join(&b->join), 0);
}

static void run(struct batch *b)
{
    begin(b);
    end(b);
}

static void fini(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        job_spec_unref(b->item[i].spec);
        free(b->item[i].ret_text);
    }
    *b = (struct batch){.n = 0};
}

static void accepted(const struct batch *b, bool existed)
{
    for (size_t i = 0; i < b->n; i++) {
        assert_int_equal(b->item[i].ret_error, 0);
        assert_int_equal(b->item[i].ret_existed, existed);
    }
}

/* That the job waits for, with its spec as it is kept. */
static uint64_t antecedent(uint64_t id, size_t edge)
{
    struct job *job;
    struct job_spec *spec;

    core_lock(core);
    job = table_get(&core->table, id);
    assert_non_null(job);
    spec = job_spec_of(job);
    const uint64_t found = spec->after[edge].job;
    assert_int_equal(spec->after[edge].item, 0);
    job_spec_unref(spec);
    core_unlock(core);
    return found;
}

static bool is_packed(uint64_t id)
{
    core_lock(core);
    const bool packed = table_get(&core->table, id)->packed;
    core_unlock(core);
    return packed;
}

static struct job_view look(uint64_t id)
{
    struct job_view v;

    assert_int_equal(query_look(NULL, core, &me, id, JOB_NO_INDEX, &v), 0);
    job_view_fini(&v);
    return v;
}

static void await(uint64_t id)
{
    while (look(id).status.state != JOB_DONE)
        (void)poll(NULL, 0, 1);
}

static struct batch a, b;

/* --- ids ---------------------------------------------------------------------------- */

static void each_waits_for_those_that_it_names(void **state)
{
    (void)state;
    (void)add(&a, JOB_KIND_NOOP, NULL, 0);
    (void)add(&a, JOB_KIND_SLEEP, NULL, 1);
    (void)add(&a, JOB_KIND_NOOP, NULL, 2);
    run(&a);
    accepted(&a, false);
    const uint64_t first = a.item[0].ret_id;
    assert_int_equal(a.item[1].ret_id, first + 1);
    assert_int_equal(antecedent(first + 1, 0), first);
    assert_int_equal(antecedent(first + 2, 0), first);
    assert_int_equal(antecedent(first + 2, 1), first + 1);
    await(first);
    while (look(first + 1).status.state != JOB_RUNNING)
        (void)poll(NULL, 0, 1);
    assert_int_equal(look(first + 2).status.state, JOB_QUEUED);
    fini(&a);
}

/* Jobs with claims are packed while they wait, also those of a crowd, which otherwise are
 * before there are ids. */
static void what_is_packed_has_the_ids(void **state)
{
    (void)state;
    (void)add(&a, JOB_KIND_SLEEP, NULL, 0);
    while (a.n < MANY) {
        struct job_spec *s = add(&a, JOB_KIND_SLEEP, NULL, 1);

        s->claims = calloc(1, sizeof(struct job_claim));
        s->claims[s->nclaims++] =
            (struct job_claim){.name = strdup("l"), .mode = JOB_CLAIM_SHARED};
    }
    run(&a);
    accepted(&a, false);
    for (size_t i = 1; i < MANY; i++) {
        assert_int_equal(antecedent(a.item[i].ret_id, 0), a.item[0].ret_id);
        assert_true(is_packed(a.item[i].ret_id));
    }
    fini(&a);
}

/* No poll looks at more edges than one of the other passes does. */
static void edges_are_made_in_portions(void **state)
{
    enum { WIDE = 200, BEHIND = 31 };

    (void)state;
    while (a.n < WIDE)
        (void)add(&a, JOB_KIND_SLEEP, NULL, 0);
    while (a.n < WIDE + BEHIND)
        (void)add(&a, JOB_KIND_NOOP, NULL, WIDE);
    run(&a);
    accepted(&a, false);
    for (size_t i = WIDE; i < a.n; i++)
        assert_int_equal(antecedent(a.item[i].ret_id, WIDE - 1), a.item[WIDE - 1].ret_id);
    assert_in_range(a.looked, WIDE, SUBMIT_SLICE + SUBMIT_EDGES + WIDE);
    assert_true(a.polls > BEHIND * WIDE / (SUBMIT_EDGES + WIDE));
    fini(&a);
}

/* No poll works on more jobs than one hold of the lock does. */
static void jobs_are_made_in_portions(void **state)
{
    (void)state;
    while (a.n < MANY)
        (void)add(&a, JOB_KIND_SLEEP, NULL, 0);
    run(&a);
    accepted(&a, false);
    assert_in_range(a.looked, 1, JOBS_SLICE);
    fini(&a);
}

/* --- keys --------------------------------------------------------------------------- */

static void fill(struct batch *to, const char *first, const char *last)
{
    (void)add(to, JOB_KIND_NOOP, first, 0);
    (void)add(to, JOB_KIND_NOOP, last, 1);
}

/* Also as one that says the id itself, and when what it waits for is in the store alone. */
static void the_same_again_is_the_same(void **state)
{
    uint64_t id[2];

    (void)state;
    fill(&a, "first", "last");
    run(&a);
    accepted(&a, false);
    id[0] = a.item[0].ret_id;
    id[1] = a.item[1].ret_id;
    fini(&a);
    for (int gone = 0; gone < 2; gone++) {
        fill(&a, "first", "last");
        run(&a);
        accepted(&a, true);
        assert_int_equal(a.item[0].ret_id, id[0]);
        assert_int_equal(a.item[1].ret_id, id[1]);
        fini(&a);
        add(&a, JOB_KIND_NOOP, "last", 1)->after[0] =
            (struct job_edge){.job = id[0], .when = JOB_AFTER_ANY};
        run(&a);
        accepted(&a, true);
        assert_int_equal(a.item[0].ret_id, id[1]);
        fini(&a);
        await(id[1]);
        for (int i = 0; i < 3; i++) { /* others end, and memory keeps one */
            (void)add(&a, JOB_KIND_NOOP, NULL, 0);
            run(&a);
            await(a.item[0].ret_id);
            fini(&a);
        }
        while (managed_has(core, &me, id[0]))
            (void)poll(NULL, 0, 1);
    }
    fill(&a, "first", "last");
    (void)add(&a, JOB_KIND_NOOP, "new", 1);
    run(&a);
    assert_int_equal(a.item[0].ret_id, id[0]);
    assert_int_equal(a.item[1].ret_id, id[1]);
    assert_true(a.item[2].ret_id > id[1] && !a.item[2].ret_existed);
    assert_in_range(a.looked, QUERY_KEPT_COST, QUOTA_ENTRIES); /* the store was asked */
    await(a.item[2].ret_id);
    assert_int_equal(look(a.item[2].ret_id).status.result, JOB_RESULT_SUCCESS);
    fini(&a);
}

static void what_waits_for_another_job_is_another(void **state)
{
    (void)state;
    fill(&a, "first", "last");
    run(&a);
    fini(&a);
    fill(&a, "other", "last");
    run(&a);
    assert_int_equal(a.item[0].ret_error, -ECANCELED);
    assert_int_equal(a.item[1].ret_error, -EEXIST);
    fini(&a);
}

/* Which of two items a third one waits for must be clear. */
static void one_key_is_one_item(void **state)
{
    (void)state;
    fill(&a, "first", "last");
    add(&a, JOB_KIND_NOOP, "first", 0)->on_exists = JOB_ON_EXISTS_COALESCE;
    run(&a);
    assert_int_equal(a.item[2].ret_error, -EEXIST);
    assert_int_equal(a.item[0].ret_error, -ECANCELED);
    fini(&a);
}

/* A submission gives back what it has claimed, as it waits for an older one's key. When it
 * may go on, another one has submitted the same: it finds all of these. */
static void others_may_have_submitted_the_same_meanwhile(void **state)
{
    struct keys_entry *e;

    (void)state;
    core_lock(core);
    e = keys_put(&core->keys, keys_name(&core->keys, me.who.uid, "last"),
                 me.who.uid);
    assert_non_null(e);
    e->claim = UINT32_MAX; /* older than all others */
    core_unlock(core);
    fill(&a, "first", "last");
    begin(&a);
    lone_settle(rt);
    core_lock(core);
    keys_remove(&core->keys, e);
    core_unlock(core);
    fill(&b, "first", "last");
    run(&b);
    accepted(&b, false);
    end(&a);
    accepted(&a, true);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(a.item[i].ret_id, b.item[i].ret_id);
    fini(&a);
    fini(&b);
}

/* It waits on where the key is claimed still, or again. */
static void and_what_is_claimed_is_waited_for(void **state)
{
    struct keys_entry *e;

    (void)state;
    core_lock(core);
    e = keys_put(&core->keys, keys_name(&core->keys, me.who.uid, "last"),
                 me.who.uid);
    e->claim = UINT32_MAX; /* older than all others */
    core_unlock(core);
    fill(&a, "first", "last");
    begin(&a);
    lone_settle(rt);
    (void)add(&b, JOB_KIND_NOOP, "news", 0);
    run(&b);
    lone_settle(rt);
    assert_int_equal(a.item[0].ret_id, 0);
    core_lock(core);
    assert_null(keys_find(&core->keys, keys_name(&core->keys, me.who.uid, "first")));
    keys_remove(&core->keys, e);
    core_unlock(core);
    fini(&b);
    (void)add(&b, JOB_KIND_NOOP, "more news", 0);
    run(&b);
    end(&a);
    accepted(&a, false);
    fini(&a);
    fini(&b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(each_waits_for_those_that_it_names),
        T(what_is_packed_has_the_ids),
        T(edges_are_made_in_portions),
        T(jobs_are_made_in_portions),
        T(the_same_again_is_the_same),
        T(what_waits_for_another_job_is_another),
        T(one_key_is_one_item),
        T(others_may_have_submitted_the_same_meanwhile),
        T(and_what_is_claimed_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

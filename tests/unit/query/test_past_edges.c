/* Jobs that wait for jobs that have left memory: what is known of those, and what it
 * costs to ask. One worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <poll.h>

#include "daemon/query/past_edges.h"
#include "daemon/query/query.h"
#include "daemon/submit/submit.h"
#include "tests/support/lone.h"
#include "tests/support/managed.h"

static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER},
                          other = {{.uid = 4321}, AUTH_MEMBER};
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

struct watched {
    struct jobs_submit submit;
    struct quota quota; /* of a poll */
    size_t *looked;     /* by all polls */
};

static enum volt_poll watched_poll(struct volt_cx *cx, void *state)
{
    struct watched *w = state;

    w->quota = (struct quota){0};
    w->submit.quota = &w->quota;
    enum volt_poll r = jobs_submit_poll(cx, &w->submit);
    *w->looked += w->quota.entries;
    return r;
}

static void watched_drop(void *state)
{
    jobs_submit_fini(&((struct watched *)state)->submit);
}

static const struct volt_task_type watched_type = {
    "watched submission", sizeof(struct watched), watched_poll, watched_drop, NULL};

/* Takes spec. What comes of it; its text is freed. */
static struct jobs_submit_item submit_as(const struct job_owner *owner,
                                         struct job_spec *spec, size_t *ret_looked)
{
    struct jobs_submit_item item = {.spec = spec};
    struct watched *w = volt_task_new(rt, &watched_type);
    struct volt_join join;

    assert_non_null(w);
    *ret_looked = 0;
    w->looked = ret_looked;
    jobs_submit_init(&w->submit, core, owner, &item, 1, false);
    lone_spawn(w, &join);
    assert_int_equal(lone_join(&join), 0);
    job_spec_unref(spec);
    free(item.ret_text);
    return item;
}

/* Takes spec. Returns the id. */
static uint64_t submit(struct job_spec *spec, size_t *ret_looked)
{
    const struct jobs_submit_item item = submit_as(&me.who, spec, ret_looked);

    assert_int_equal(item.ret_error, 0);
    return item.ret_id;
}

static struct job_spec *noop(void)
{
    struct job_spec *s = job_spec_new();

    s->kind = JOB_KIND_NOOP;
    return s;
}

/* It has ended, or left memory, as it does when another one has ended after it; gone: it
 * has left memory. */
static void await(uint64_t id, bool gone)
{
    struct job_view v;

    for (bool there = false; !there; (void)poll(NULL, 0, 1)) {
        if (query_get(core, &me, id, JOB_NO_INDEX, &v) < 0)
            return;
        there = !gone && v.status.state == JOB_DONE;
        job_view_fini(&v);
    }
}

static struct job_spec *after(const uint64_t *ids, size_t n)
{
    struct job_spec *s = noop();

    s->after = calloc(n, sizeof(*s->after));
    assert_non_null(s->after);
    s->nafter = n;
    for (size_t i = 0; i < n; i++)
        s->after[i] = (struct job_edge){.job = ids[i], .when = JOB_AFTER_ANY};
    return s;
}

/* As many entries as a job of the store counts anywhere. */
static void each_is_charged_as_a_read(void **state)
{
    enum { N = 5 };
    uint64_t ids[N];
    size_t alone, looked;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        ids[i] = submit(noop(), &alone);
        await(ids[i], false);
    }
    await(submit(noop(), &alone), false);
    for (size_t i = 0; i < N; i++)
        await(ids[i], true);
    (void)submit(after(ids, N), &looked);
    assert_true(looked >= alone + N * QUERY_KEPT_COST);
}

static struct job_spec *an_array(void)
{
    struct job_spec *s = noop();

    s->is_array = s->hold = true;
    s->array_last = 2;
    return s;
}

/* Its elements are in memory, but not for this user. */
static void an_array_of_another_user_is_not_known(void **state)
{
    size_t looked;
    const uint64_t id = submit_as(&other.who, an_array(), &looked).ret_id;
    struct job_spec *s = an_array();

    (void)state;
    assert_true(id > 0);
    s->after = calloc(1, sizeof(*s->after));
    s->after[s->nafter++] =
        (struct job_edge){.job = id, .when = JOB_AFTER_OK, .each = true};
    assert_int_equal(submit_as(&me.who, s, &looked).ret_error, -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_charged_as_a_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_array_of_another_user_is_not_known, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

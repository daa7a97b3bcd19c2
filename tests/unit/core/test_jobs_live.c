/* The live jobs on a real runtime, with kinds that need no process: submission, batches,
 * arrays, cancel, events, counters, what is kept and what is forgotten. */
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/admission.h"
#include "daemon/admit/named.h"
#include "daemon/admit/timed.h"
#include "daemon/core/jobs.h"
#include "daemon/core/table.h"
#include "daemon/core/tx.h"
#include "daemon/life/allowed.h"
#include "daemon/query/standing.h"
#include "tests/support/managed.h"
#include "tests/support/recount.h"
#include "tests/support/steering.h"

static struct volt_runtime *rt;
static struct core *core;
static struct config config;
static const struct asker me = {{.uid = 1234, .gid = 1234}, AUTH_MEMBER};
static const struct asker other = {{.uid = 4321}, AUTH_MEMBER};

static void start(void)
{
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &rt), 0);
    core = managed_start(&config, rt);
}

static void stop(void)
{
    managed_stop(core, rt);
}

static int setup(void **state)
{
    (void)state;
    config = managed_config();
    config.keep_ended_jobs = 100;
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    recount_index(core, false);
    stop();
    return 0;
}

/* The table without memory for one job: the Makefile redirects the calls. */
static unsigned puts_until_failure; /* 0: none fails */
int __real_table_put(struct table *t, uint64_t id, struct job *job);
int __wrap_table_put(struct table *t, uint64_t id, struct job *job);

int __wrap_table_put(struct table *t, uint64_t id, struct job *job)
{
    if (puts_until_failure && --puts_until_failure == 0)
        return -ENOMEM;
    return __real_table_put(t, id, job);
}

/* --- leaf futures driven from a test's thread --------------------------------------- */

enum what {
    SUBMIT,
    CANCEL,
    DRAIN,
};

struct driver {
    enum what what;
    struct jobs_submit submit;
    struct steer_all *cancel;
    struct life_drain drain;
};

static enum volt_poll driver_poll(struct volt_cx *cx, void *state)
{
    struct driver *d = state;

    switch (d->what) {
    case SUBMIT:
        return jobs_submit_poll(cx, &d->submit);
    case CANCEL:
        return steer_all_poll(cx, d->cancel);
    default:
        return life_drain_poll(cx, &d->drain);
    }
}

static void driver_drop(void *state)
{
    struct driver *d = state;

    if (d->what == SUBMIT)
        jobs_submit_fini(&d->submit);
    else if (d->what == DRAIN)
        life_drain_fini(&d->drain);
}

static const struct volt_task_type driver_type = {"driver", sizeof(struct driver),
                                                  driver_poll, driver_drop, NULL};

static void run(struct driver *d)
{
    struct volt_join join;

    assert_int_equal(volt_task_spawn(d, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

static void submit_all(struct jobs_submit_item *items, size_t n, bool atomic)
{
    struct driver *d = volt_task_new(rt, &driver_type);

    d->what = SUBMIT;
    jobs_submit_init(&d->submit, core, &me.who, items, n, atomic);
    run(d);
}

static int64_t cancel_all(const struct asker *asker, const struct job_filter *f)
{
    struct driver *d = volt_task_new(rt, &driver_type);
    struct steer_all all = {.core = core, .asker = *asker, .filter = f};

    d->what = CANCEL;
    d->cancel = &all;
    run(d);
    assert_int_equal(all.ret, 0);
    return all.ret_count;
}

static void drain(bool cancel)
{
    struct driver *d = volt_task_new(rt, &driver_type);

    d->what = DRAIN;
    d->drain = (struct life_drain){.core = core, .cancel = cancel};
    run(d);
}

/* READY when nothing is left but what was there: all have ended. */
static void wait_all_ended(void)
{
    life_close(
        core); /* nothing new starts; sleeps and noops that run end by themselves */
    drain(true);
}

static struct job_spec *spec_of(enum job_kind kind, uint64_t usec)
{
    struct job_spec *s = job_spec_new();

    s->kind = kind;
    s->duration_usec = usec;
    return s;
}

static uint64_t submit_one(struct job_spec *spec, int *ret_error)
{
    struct jobs_submit_item item = {.spec = spec};

    submit_all(&item, 1, false);
    job_spec_unref(spec);
    free(item.ret_text);
    if (ret_error)
        *ret_error = item.ret_error;
    return item.ret_id;
}

/* Waits for the end of one job by reading events. */
struct ender {
    uint64_t id;
    uint64_t at;
    struct volt_notified news;
    bool waiting;
};

static bool ended(uint64_t id)
{
    struct job_view v;

    if (query_get(core, &me, id, -1, &v) < 0)
        return true;
    bool done = v.status.state == JOB_DONE;
    job_view_fini(&v);
    return done;
}

static enum volt_poll ender_poll(struct volt_cx *cx, void *state)
{
    struct ender *e = state;

    for (;;) {
        if (!e->waiting)
            volt_notified_init(&e->news, query_events_notify(core));
        e->waiting = true;
        if (ended(e->id))
            return VOLT_READY;
        if (volt_notified_poll(cx, &e->news) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_fini(&e->news);
        e->waiting = false;
    }
}

static void ender_drop(void *state)
{
    struct ender *e = state;

    if (e->waiting)
        volt_notified_fini(&e->news);
}

static const struct volt_task_type ender_type = {"ender", sizeof(struct ender),
                                                 ender_poll, ender_drop, NULL};

static void wait_end(uint64_t id)
{
    struct ender *e = volt_task_new(rt, &ender_type);
    struct volt_join join;

    e->id = id;
    assert_int_equal(volt_task_spawn(e, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
}

/* --- tests -------------------------------------------------------------------------- */

/* What is only checked becomes no job, and takes no id and no key. */
static void what_is_only_checked(void **state)
{
    struct job_spec *keyed = spec_of(JOB_KIND_NOOP, 0);
    struct jobs_submit_item items[] = {{.spec = spec_of(JOB_KIND_NOOP, 0)},
                                       {.spec = keyed}};
    const uint64_t first = submit_one(spec_of(JOB_KIND_NOOP, 0), NULL);
    struct core_counts c;

    (void)state;
    keyed->key = strdup("k");
    for (size_t i = 0; i < 2; i++) {
        struct driver *d = volt_task_new(rt, &driver_type);

        d->what = SUBMIT;
        jobs_submit_init(&d->submit, core, &me.who, &items[i], 1, true);
        d->submit.only_checks = true;
        run(d);
        assert_int_equal(items[i].ret_error, 0);
        assert_int_equal(items[i].ret_id, 0);
        assert_false(items[i].ret_existed);
        free(items[i].ret_text);
        items[i].ret_text = NULL;
    }
    query_counts(core, &c);
    assert_int_equal(c.submitted, 1);
    submit_all(&items[1], 1, true);
    assert_int_equal(items[1].ret_id, first + 1);
    assert_false(items[1].ret_existed);
    for (size_t i = 0; i < 2; i++)
        job_spec_unref(items[i].spec);
}

/* An array of two that waits for a job, its elements for those of another array, a date and
 * a release, and claims a lock. */
static struct job_spec *waiting_spec(uint64_t first, uint64_t array)
{
    struct job_spec *s = spec_of(JOB_KIND_SLEEP, 1000000);

    s->is_array = s->hold = true;
    s->array_last = 1;
    s->at_usec = jobs_now_usec() + 3600000000;
    s->start_by_usec = s->at_usec + 1000000;
    s->claims = calloc(1, sizeof(*s->claims));
    s->claims[s->nclaims++].name = strdup("l");
    s->after = calloc(2, sizeof(*s->after));
    s->after[s->nafter++] = (struct job_edge){.job = first, .when = JOB_AFTER_ANY};
    s->after[s->nafter++] =
        (struct job_edge){.job = array, .when = JOB_AFTER_ANY, .each = true};
    return s;
}

/* It is told what it would wait for, behind others, and then waits for nothing. */
static void where_it_would_stand(void **state)
{
    struct job_spec *held = spec_of(JOB_KIND_NOOP, 0), *array = spec_of(JOB_KIND_NOOP, 0);
    struct standing at = {.is_forecast = false};
    struct admission *a = parts_of(core)->admit;

    (void)state;
    held->hold = array->hold = array->is_array = true;
    array->array_last = 1;
    const uint64_t ids[] = {submit_one(held, NULL), submit_one(array, NULL)};
    const uint64_t sleeps = submit_one(spec_of(JOB_KIND_SLEEP, 0), NULL);
    struct jobs_submit_item item = {.spec = waiting_spec(ids[0], ids[1])};
    struct driver *d = volt_task_new(rt, &driver_type);
    wait_end(sleeps);
    d->what = SUBMIT;
    jobs_submit_init(&d->submit, core, &me.who, &item, 1, true);
    d->submit.only_checks = true;
    d->submit.standing = &at;
    run(d);
    free(item.ret_text);
    job_spec_unref(item.spec);
    assert_int_equal(at.why.n, 4);
    assert_false(at.is_forecast);
    core_lock(core);
    assert_true(admission_is_idle(a));
    assert_null(named_find(a, me.who.uid, "l"));
    assert_int_equal(admission_tick_at(a).realtime, TIMED_NEVER);
    core_unlock(core);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cancel_now(core, &me, ids[i], -1), 0);
        wait_end(ids[i]);
    }
}

static void noop_from_submit_to_done(void **state)
{
    (void)state;
    int error = 1;
    uint64_t id = submit_one(spec_of(JOB_KIND_NOOP, 0), &error);
    struct job_news ev[8];
    struct core_counts c;
    uint64_t next, lost;
    struct job_view v;

    assert_int_equal(error, 0);
    assert_true(id > 0);
    wait_end(id);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_SUCCESS);
    assert_int_equal(v.status.attempt, 1);
    assert_int_equal(v.exit_code, 0);
    assert_false(v.durable);
    job_view_fini(&v);
    assert_int_equal(query_get(core, &other, id, -1, &v), -ENOENT); /* not yours */
    assert_int_equal(query_get(core, &me, id + 1, -1, &v), -ENOENT);
    assert_int_equal(query_get(core, &me, id, 0, &v), -ENOENT);
    assert_int_equal(cancel_now(core, &me, id, -1), -EALREADY);
    assert_int_equal(cancel_now(core, &other, id, -1), -ENOENT);

    core_lock(core); /* events are read beside what works on the jobs */
    assert_int_equal(query_events_read(core, &me, 0, ev, 8, &next, &lost), 4);
    core_unlock(core);
    assert_int_equal(ev[0].type, JOB_EV_SUBMIT);
    assert_int_equal(ev[1].type, JOB_EV_STARTING);
    assert_int_equal(ev[2].type, JOB_EV_STARTED);
    assert_int_equal(ev[3].type, JOB_EV_EXITED);
    assert_int_equal(ev[3].state, JOB_DONE);
    assert_int_equal(query_events_read(core, &other, 0, ev, 8, &next, &lost), 0);
    query_counts(core, &c);
    assert_int_equal(c.submitted, 1);
    assert_int_equal(c.ended, 1);
    assert_int_equal(c.by_result[JOB_RESULT_SUCCESS], 1);
    assert_int_equal(c.by_state[JOB_DONE], 1);
}

static void sleep_cancelled_and_timed_out(void **state)
{
    (void)state;
    uint64_t id = submit_one(spec_of(JOB_KIND_SLEEP, 3600000000), NULL);
    struct job_spec *s = spec_of(JOB_KIND_SLEEP, 3600000000);
    struct job_view v;

    assert_int_equal(cancel_now(core, &me, id, -1), 0);
    wait_end(id);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_CANCELLED);
    assert_int_equal(v.exit_code, 125);
    job_view_fini(&v);

    s->timeout_usec = 1000;
    id = submit_one(s, NULL);
    wait_end(id);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_TIMEOUT);
    assert_int_equal(v.exit_code, 124);
    job_view_fini(&v);

    id = submit_one(spec_of(JOB_KIND_SLEEP, 1000), NULL);
    wait_end(id);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_int_equal(v.status.result, JOB_RESULT_SUCCESS);
    job_view_fini(&v);
}

static void refusals(void **state)
{
    (void)state;
    struct job_spec *good = spec_of(JOB_KIND_NOOP, 0), *bad = spec_of(JOB_KIND_SLEEP, 0);
    struct job_spec *exec = job_spec_new();
    struct jobs_submit_item items[3] = {{.spec = good}, {.spec = bad}, {.spec = exec}};
    struct core_counts c;

    exec->argv = calloc(2, sizeof(char *));
    exec->argv[0] = strdup("/bin/true");
    submit_all(items, 3, true);
    assert_int_equal(items[0].ret_error, -ECANCELED);
    assert_int_equal(items[1].ret_error, -EINVAL);
    assert_non_null(strstr(items[1].ret_text, "duration_usec"));
    assert_int_equal(items[2].ret_error, -EOPNOTSUPP); /* this voltd has no keeper */
    query_counts(core, &c);
    assert_int_equal(c.submitted, 0);

    submit_all(items, 3, false);
    assert_int_equal(items[0].ret_error, 0);
    assert_true(items[0].ret_id > 0);
    assert_int_equal(items[1].ret_id, 0);
    wait_end(items[0].ret_id);

    life_close(core);
    submit_all(items, 1, false);
    assert_int_equal(items[0].ret_error, -ESHUTDOWN);
    for (int i = 0; i < 3; i++)
        free(items[i].ret_text);
    job_spec_unref(good);
    job_spec_unref(bad);
    job_spec_unref(exec);
}

/* Limits, and how the configuration names them. */
static const struct {
    uint64_t *at;
    const char *key;
} limits[] = {
    {&config.max_jobs, "(MaxJobs)"},
    {&config.max_jobs_per_user, "(MaxJobsPerUser)"},
    {&config.max_bytes_per_user, "(MaxBytesPerUser)"},
    {&config.max_array, "(MaxArray)"},
};

static void reload(void)
{
    size_t n;
    struct queue_config *queues = allowed_queues(NULL, config.slots, &n);

    assert_non_null(queues);
    assert_int_equal(life_reload(core, &config, NULL, queues, n), 0);
    allowed_free(queues, n);
}

static void limits_are_named(void **state)
{
    (void)state;
    struct job_spec *eleven = spec_of(JOB_KIND_NOOP, 0);

    eleven->is_array = true;
    eleven->array_last = 10;
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        struct jobs_submit_item item = {.spec = eleven};
        const uint64_t usual = *limits[i].at;

        *limits[i].at = 10;
        reload();
        submit_all(&item, 1, false);
        assert_int_equal(item.ret_error, -EDQUOT);
        assert_int_equal(item.ret_limit, 10);
        assert_non_null(strstr(item.ret_text, "more than 10 "));
        assert_non_null(strstr(item.ret_text, limits[i].key));
        *limits[i].at = usual;
        free(item.ret_text);
    }
    reload();
    wait_end(submit_one(eleven, NULL));
}

static void arrays(void **state)
{
    (void)state;
    struct job_spec *s = spec_of(JOB_KIND_NOOP, 0);
    struct core_counts c;
    struct job_view v;

    s->is_array = true;
    s->array_first = 5;
    s->array_last = 504;
    uint64_t id = submit_one(s, NULL);
    wait_end(id);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_true(v.has_counts);
    assert_int_equal(v.done, 500);
    assert_int_equal(v.failed, 0);
    assert_int_equal(v.queued + v.running, 0);
    assert_int_equal(v.status.result, JOB_RESULT_SUCCESS);
    job_view_fini(&v);
    assert_int_equal(query_get(core, &me, id, 504, &v), 0);
    assert_int_equal(v.status.state, JOB_DONE);
    assert_int_equal(v.key.index, 504);
    assert_int_equal(v.key.attempt, 1);
    job_view_fini(&v);
    assert_int_equal(query_get(core, &me, id, 4, &v), -ENOENT);
    assert_int_equal(query_get(core, &me, id, 505, &v), -ENOENT);
    query_counts(core, &c);
    assert_int_equal(c.submitted, 500);
    assert_int_equal(c.ended, 500);
}

static void array_of_sleeps_cancelled(void **state)
{
    (void)state;
    struct job_spec *s = spec_of(JOB_KIND_SLEEP, 3600000000);
    struct core_counts c;
    struct job_view v;

    s->is_array = true;
    s->array_last = 999;
    uint64_t id = submit_one(s, NULL);
    assert_int_equal(cancel_now(core, &me, id, 999), 0); /* started or not */
    assert_int_equal(cancel_now(core, &me, id, -1), 0);
    wait_end(id);
    assert_int_equal(cancel_now(core, &me, id, -1), -EALREADY);
    assert_int_equal(cancel_now(core, &me, id, 7), -EALREADY);
    assert_int_equal(query_get(core, &me, id, -1, &v), 0);
    assert_int_equal(v.done, 1000);
    assert_int_equal(v.failed + v.cancelled, 1000);
    assert_int_equal(v.status.result, JOB_RESULT_CANCELLED);
    assert_int_equal(v.exit_code, 125);
    job_view_fini(&v);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(query_get(core, &me, id, i, &v), 0);
        assert_int_equal(v.status.state, JOB_DONE);
        assert_int_equal(v.status.result, JOB_RESULT_CANCELLED);
        job_view_fini(&v);
    }
    query_counts(core, &c);
    assert_int_equal(c.ended, 1000);
    assert_int_equal(c.by_state[JOB_QUEUED], 0);
    assert_int_equal(c.by_state[JOB_RUNNING], 0);
    assert_int_equal(c.by_state[JOB_STOPPING], 0);
}

static int count_view(void *arg, const struct job_view *v)
{
    uint64_t *last = arg;

    assert_true(v->key.id > *last);
    *last = v->key.id;
    return 0;
}

static size_t in_memory(const struct jobs_submit_item *items, size_t n)
{
    struct job_view v;
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        if (query_get(core, &me, items[i].ret_id, -1, &v) < 0)
            continue;
        assert_int_equal(v.status.result, JOB_RESULT_CANCELLED);
        assert_int_equal(v.exit_code, 125);
        job_view_fini(&v);
        known++;
    }
    return known;
}

static void big_batch_is_cancelled_and_leaves_memory(void **state)
{
    (void)state;
    enum { N = 3000 };
    struct jobs_submit_item *items = calloc(N, sizeof(*items));
    struct job_spec *s = spec_of(JOB_KIND_SLEEP, 3600000000);
    struct job_filter f = {.states =
                               1u << JOB_QUEUED | 1u << JOB_STARTING | 1u << JOB_RUNNING};
    struct core_counts c;
    struct job_view v;
    uint64_t last = 0, cursor;

    for (size_t i = 0; i < N; i++)
        items[i].spec = s;
    submit_all(items, N, true);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(items[i].ret_id, items[0].ret_id + i);
    assert_int_equal(managed_list(core, &me, &f, 0, 10, count_view, &last, &cursor), 0);
    assert_int_equal(last, items[9].ret_id);
    assert_int_equal(cursor, last);
    assert_int_equal(managed_list(core, &me, &f, cursor, N, count_view, &last, &cursor),
                     0);
    assert_int_equal(last, items[N - 1].ret_id);
    assert_int_equal(cursor, 0);
    assert_int_equal(cancel_all(&other, &f), 0);
    assert_int_equal(cancel_all(&me, &f), N);
    wait_all_ended();
    /* All but the newest hundred leave, whichever they are. */
    while (in_memory(items, N) > 100)
        (void)poll(NULL, 0, 1);
    assert_int_equal(in_memory(items, N), 100);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX),
                     0); /* every task is dropped */
    query_counts(core, &c);
    assert_int_equal(c.ended, N);
    assert_int_equal(c.by_result[JOB_RESULT_CANCELLED], N);
    assert_int_equal(query_get(core, &other, items[0].ret_id, -1, &v), -ENOENT);
    job_spec_unref(s);
    free(items);
}

/* A submission that is half entered when everything is to end. */
static bool half_entered;

struct late {
    struct jobs_submit submit;
    struct life_drain drain;
    const struct jobs_submit_item *items;
    bool closed, submitted;
};

static enum volt_poll late_poll(struct volt_cx *cx, void *state)
{
    struct late *l = state;

    if (!l->submitted)
        l->submitted = jobs_submit_poll(cx, &l->submit) == VOLT_READY;
    if (!l->closed && l->items[0].ret_id) {
        half_entered = !l->submitted;
        life_close(core);
        (void)life_drain_poll(cx, &l->drain);
        l->closed = true;
    }
    return l->submitted ? life_drain_poll(cx, &l->drain) : VOLT_PENDING;
}

static void late_drop(void *state)
{
    struct late *l = state;

    jobs_submit_fini(&l->submit);
    life_drain_fini(&l->drain);
}

static const struct volt_task_type late_type = {"late", sizeof(struct late), late_poll,
                                                late_drop, NULL};

static void what_enters_after_the_end_began_is_cancelled(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct jobs_submit_item *items = calloc(N, sizeof(*items));
    struct job_spec *s = spec_of(JOB_KIND_NOOP, 0);
    struct late *l = volt_task_new(rt, &late_type);
    struct core_counts c;
    struct volt_join join;

    for (size_t i = 0; i < N; i++)
        items[i].spec = s;
    l->items = items;
    l->drain = (struct life_drain){.core = core, .cancel = true};
    jobs_submit_init(&l->submit, core, &me.who, items, N, true);
    (void)alarm(60); /* the drain would wait for ever */
    assert_int_equal(volt_task_spawn(l, &join), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    volt_join_fini(&join);
    (void)alarm(0);
    assert_true(half_entered);
    assert_int_not_equal(items[N - 1].ret_id, 0);
    query_counts(core, &c);
    assert_int_equal(c.submitted, N);
    assert_int_equal(c.ended, N);
    job_spec_unref(s);
    free(items);
}

/* A submission on its way while voltd ends: its jobs are waited for from their check on,
 * and where only starts are waited for it is from its commit on. */
#define SLICE 50

struct underway {
    struct jobs_submit submit;
    struct quota quota;               /* of a poll, which has SLICE entries left */
    struct life_drain ended, started; /* every job; starts */
    const struct jobs_submit_item *items;
    unsigned polls;
    bool submitted;
    sem_t *half; /* posted once it has entered in part, and it stops there; NULL: not */
    bool when_open, when_checked, when_entering; /* it was waited for */
};

static bool waits(struct volt_cx *cx, struct life_drain *d)
{
    return life_drain_poll(cx, d) == VOLT_PENDING;
}

static enum volt_poll underway_poll(struct volt_cx *cx, void *state)
{
    struct underway *u = state;

    if (u->half && u->items[0].ret_id) {
        sem_post(u->half);
        return VOLT_PENDING;
    }
    u->quota = (struct quota){.entries = QUOTA_ENTRIES - SLICE};
    u->submit.quota = &u->quota;
    if (!u->submitted)
        u->submitted = jobs_submit_poll(cx, &u->submit) == VOLT_READY;
    if (++u->polls == 2) { /* two slices of them are checked, the rest is refused */
        u->when_open = waits(cx, &u->ended) && waits(cx, &u->started);
        life_close(core);
        u->when_checked = waits(cx, &u->ended) && !u->items[0].ret_id;
    }
    if (!u->submitted && u->items[0].ret_id)
        u->when_entering = waits(cx, &u->started);
    if (u->polls < 2 || !u->submitted || waits(cx, &u->started) || waits(cx, &u->ended))
        return VOLT_PENDING;
    return VOLT_READY;
}

static void underway_drop(void *state)
{
    struct underway *u = state;

    jobs_submit_fini(&u->submit);
    life_drain_fini(&u->ended);
    life_drain_fini(&u->started);
}

static const struct volt_task_type underway_type = {"underway", sizeof(struct underway),
                                                    underway_poll, underway_drop, NULL};

static struct jobs_submit_item underway_items[3 * SLICE];

/* Two slices of it are taken. */
static void begin_underway(sem_t *half, struct volt_join *ret_join)
{
    struct job_spec *s = spec_of(JOB_KIND_NOOP, 0);
    struct underway *u = volt_task_new(rt, &underway_type);

    for (size_t i = 0; i < 3 * SLICE; i++)
        underway_items[i] = (struct jobs_submit_item){.spec = job_spec_ref(s)};
    job_spec_unref(s);
    u->items = underway_items;
    u->half = half;
    u->ended = (struct life_drain){.core = core, .cancel = true};
    u->started = (struct life_drain){.core = core};
    jobs_submit_init(&u->submit, core, &me.who, underway_items, 3 * SLICE, false);
    (void)alarm(60); /* it would wait for ever */
    assert_int_equal(volt_task_spawn(u, ret_join), 0);
}

/* All of it has ended. */
static void check_underway(void)
{
    struct core_counts c;

    (void)alarm(0);
    query_counts(core, &c);
    assert_int_equal(c.submitted, 2 * SLICE);
    assert_int_equal(c.ended, 2 * SLICE);
    for (size_t i = 0; i < 3 * SLICE; i++) {
        free(underway_items[i].ret_text);
        job_spec_unref(underway_items[i].spec);
    }
}

static void the_end_waits_for_submissions_on_their_way(void **state)
{
    struct volt_join join;

    (void)state;
    begin_underway(NULL, &join);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct underway *u = volt_join_state(&join);
    assert_true(u->when_open);
    assert_true(u->when_checked);
    assert_true(u->when_entering);
    volt_join_fini(&join);
    check_underway();
}

/* It was stopped where the latest poll had no looks left. */
static void what_is_entered_in_part_enters_whole_at_the_end(void **state)
{
    sem_t half;

    (void)state;
    assert_int_equal(sem_init(&half, 0, 0), 0);
    begin_underway(&half, NULL);
    assert_int_equal(sem_wait(&half), 0);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    sem_destroy(&half);
    check_underway();
}

static void ids_go_on_in_the_next_life(void **state)
{
    (void)state;
    uint64_t first = submit_one(spec_of(JOB_KIND_NOOP, 0), NULL);

    stop();
    start();
    assert_true(submit_one(spec_of(JOB_KIND_NOOP, 0), NULL) > first);
}

/* Ids are given out before the commit, so the store knows each job by its own. */
static void a_job_that_cannot_enter_leaves_its_id_unused(void **state)
{
    struct jobs_submit_item items[4];

    (void)state;
    for (size_t i = 0; i < 4; i++)
        items[i] = (struct jobs_submit_item){.spec = spec_of(JOB_KIND_NOOP, 0)};
    puts_until_failure = 2;
    submit_all(items, 4, false);
    assert_int_equal(items[1].ret_id, 0);
    assert_int_equal(items[1].ret_error, -ENOMEM);
    assert_int_equal(items[2].ret_id, items[0].ret_id + 2);
    assert_int_equal(items[3].ret_id, items[0].ret_id + 3);
    for (size_t i = 0; i < 4; i++) {
        job_spec_unref(items[i].spec);
        free(items[i].ret_text);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(noop_from_submit_to_done),
        TEST(what_is_only_checked),
        TEST(where_it_would_stand),
        TEST(sleep_cancelled_and_timed_out),
        TEST(refusals),
        TEST(limits_are_named),
        TEST(arrays),
        TEST(array_of_sleeps_cancelled),
        TEST(big_batch_is_cancelled_and_leaves_memory),
        TEST(what_enters_after_the_end_began_is_cancelled),
        TEST(the_end_waits_for_submissions_on_their_way),
        TEST(what_is_entered_in_part_enters_whole_at_the_end),
        TEST(ids_go_on_in_the_next_life),
        TEST(a_job_that_cannot_enter_leaves_its_id_unused),
    };
    return cmocka_run_group_tests(tests, managed_make, managed_remove);
}

/* Steering: cancel, signal, drain. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "daemon/exec/cancel.h"
#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"

/* The job may be forgotten between two portions, hence the look-up each time. */
int manager_cancel_step(struct manager *m, const struct job_owner *asker, uint64_t id,
                        int64_t index, struct manager_cancel_at *at)
{
    struct tx tx;
    int64_t offset = NO_OFFSET;
    int r = at->begun ? 0 : -ENOENT;

    core_begin(&tx, m);
    struct job *job = jobs_find(m, asker->uid, id, index, &offset);
    manager_did(m, 1, 0, 0);
    if (job && at->begun) {
        r = core_cancel_elements(&tx, job, &at->offset,
                                 at->looks ? at->looks : MANAGER_WALK_LOOKS,
                                 at->most_facts ? at->most_facts : MANAGER_CANCEL_FACTS);
    } else if (job) {
        r = core_cancel(&tx, job, offset);
        if (r == 0 && job->array && offset == NO_OFFSET)
            r = -EAGAIN;
    }
    at->begun = true;
    at->looked = m->held.entries;
    at->facts = m->held.facts;
    core_finish(&tx);
    return r;
}

void manager_cancel_later(struct manager *m, const struct job_owner *asker, uint64_t id)
{
    int64_t offset;
    struct tx tx;

    core_begin(&tx, m);
    struct job *job = jobs_find(m, asker->uid, id, JOB_NO_INDEX, &offset);
    if (job && !jobs_done(job))
        agenda_add(m, job, DUE_CANCEL);
    core_finish(&tx);
}

int manager_cancel(struct manager *m, const struct job_owner *asker, uint64_t id,
                   int64_t index)
{
    struct manager_cancel_at at = {.begun = false};
    int r;

    do
        r = manager_cancel_step(m, asker, id, index, &at);
    while (r == -EAGAIN);
    return r;
}

void manager_barrier_init(struct manager_barrier *b, struct manager *m)
{
    (void)store_append(m->store, NULL, 0, &b->commit); /* cannot fail without facts */
}

enum volt_poll manager_barrier_poll(struct volt_cx *cx, struct manager_barrier *b)
{
    return store_commit_poll(cx, &b->commit);
}

void manager_barrier_fini(struct manager_barrier *b)
{
    store_commit_fini(&b->commit);
}

static int cancel_view(void *arg, const struct job_view *v)
{
    struct manager_cancel_all *c = arg;
    struct manager_cancel_at at = {.begun = false};

    if (v->orphan || v->status.state == JOB_DONE)
        return 0;
    int r = manager_cancel_step(c->manager, &c->asker, v->key.id, v->key.index, &at);
    c->facts += at.facts;
    c->ret_count += r == 0 || r == -EAGAIN;
    if (r == -EAGAIN)
        c->arrays[c->narrays++] = v->key.id;
    return r == -ENOMEM ? r : 0;
}

/* A portion of the elements of the last of the arrays. */
static void cancel_elements(struct manager_cancel_all *c)
{
    c->at.begun = true;
    c->at.most_facts = c->most_facts;
    c->at.looks = c->looks;
    int r = manager_cancel_step(c->manager, &c->asker, c->arrays[c->narrays - 1],
                                JOB_NO_INDEX, &c->at);
    c->looked = c->at.looked;
    c->facts = c->at.facts;
    if (r == -EAGAIN)
        return;
    if (r == -ENOMEM)
        c->ret = r;
    c->narrays--;
    c->at = (struct manager_cancel_at){.begun = false};
}

/* These states of a filter without that of ended jobs. */
static uint32_t but_done(uint32_t states)
{
    const uint32_t live = (1u << JOB_DONE) - 1;

    states = states ? states & live : live;
    return states ? states : 1u << JOB_STATE_COUNT; /* that of no job */
}

/* A portion of the list of jobs: of those that have not ended. */
static void cancel_listed(struct volt_cx *cx, struct manager_cancel_all *c)
{
    struct manager_filter f = *c->filter;
    size_t most = c->most_facts ? c->most_facts : MANAGER_CANCEL_FACTS;
    struct manager_walk w = {.cursor = c->cursor,
                             .limit = (most + 2) / 3,
                             .looks = c->looks ? c->looks : MANAGER_WALK_LOOKS,
                             .bytes = MANAGER_WALK_BYTES,
                             .specs = MANAGER_SPECS_NONE,
                             .at_once = MANAGER_CANCEL_SLICE};

    f.states = but_done(f.states);
    c->ret = manager_walk_step(cx, c->manager, &c->asker, &f, &w, cancel_view, c);
    c->cursor = w.cursor;
    c->looked = w.looked;
    c->bytes = w.unpacked;
    c->listed = c->cursor == 0;
}

#define SLICES_PER_PACE 192

static bool store_is_well(const struct manager *m)
{
    struct store_health health;

    store_health(m->store, &health);
    return !health.full && !health.failing;
}

enum volt_poll manager_cancel_all_poll(struct volt_cx *cx, struct manager_cancel_all *c)
{
    c->looked = c->bytes = c->facts = 0;
    if (c->pacing && manager_barrier_poll(cx, &c->pace) == VOLT_PENDING)
        return VOLT_PENDING;
    manager_barrier_fini(&c->pace);
    if (c->narrays)
        cancel_elements(c);
    else
        cancel_listed(cx, c);
    if (c->ret < 0 || (c->listed && !c->narrays))
        return VOLT_READY;
    c->pacing =
        c->paced && ++c->slices % SLICES_PER_PACE == 0 && store_is_well(c->manager);
    if (c->pacing)
        manager_barrier_init(&c->pace, c->manager);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void manager_cancel_all_fini(struct manager_cancel_all *c)
{
    manager_barrier_fini(&c->pace);
}

/* --- signals ------------------------------------------------------------------------ */

/* 0 and the key of the running attempt. */
static int running_key(struct manager_signal *s, struct job_key *ret)
{
    struct job_view v;
    int r = manager_get(s->manager, &s->asker, s->id, s->index, &v);

    if (r < 0)
        return r;
    if (v.spec && v.spec->kind != JOB_KIND_EXEC)
        r = -EOPNOTSUPP;
    else if (v.has_counts && v.status.state != JOB_DONE)
        r = -EISDIR;
    else if (!v.status.pid || v.status.state == JOB_DONE)
        r = -ESRCH;
    *ret = v.key;
    job_view_fini(&v);
    return r;
}

enum volt_poll manager_signal_poll(struct volt_cx *cx, struct manager_signal *s)
{
    struct keeper_call *call = s->pending;
    struct job_key key;

    if (s->at == 0) {
        s->ret = running_key(s, &key);
        if (s->ret == 0 && !s->manager->link)
            s->ret = -EOPNOTSUPP;
        if (s->ret < 0)
            return VOLT_READY;
        call = calloc(1, sizeof(*call));
        if (!call) {
            s->ret = -ENOMEM;
            return VOLT_READY;
        }
        keeper_call_init_signal(call, s->manager->link, &key, s->signal,
                                s->tree ? KEEPER_SCOPE_TREE : KEEPER_SCOPE_MAIN);
        s->pending = call;
        s->at = 1;
    }
    if (keeper_call_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    s->ret = keeper_call_status(call);
    return VOLT_READY;
}

void manager_signal_fini(struct manager_signal *s)
{
    if (s->pending) {
        keeper_call_fini(s->pending);
        free(s->pending);
    }
    s->pending = NULL;
}

/* --- drain -------------------------------------------------------------------------- */

static bool drained(struct manager_drain *d)
{
    struct manager_counts c;

    manager_counts(d->manager, &c);
    if (c.by_state[JOB_STARTING])
        return false;
    return !d->cancel ||
           c.by_state[JOB_QUEUED] + c.by_state[JOB_RUNNING] + c.by_state[JOB_STOPPING] ==
               0;
}

enum { DRAIN_BEGIN = 0, DRAIN_CANCEL, DRAIN_REST, DRAIN_WAIT };

/* Root's jobs are everybody's: those that are there are cancelled by and by, those whose
 * submission is under way when they enter (submit.c). */
static void end_all(struct manager_drain *d)
{
    static const struct manager_filter all = {0};

    manager_lock(d->manager);
    d->manager->ending = true;
    manager_unlock(d->manager);
    d->all = (struct manager_cancel_all){.manager = d->manager, .filter = &all};
}

/* READY: all have been asked to end. Without memory it begins again after a rest. */
static enum volt_poll end_all_poll(struct volt_cx *cx, struct manager_drain *d)
{
    for (;;) {
        if (d->at == DRAIN_REST) {
            if (volt_sleep_poll(cx, &d->rest) == VOLT_PENDING)
                return VOLT_PENDING;
            volt_sleep_fini(&d->rest);
            d->at = DRAIN_BEGIN;
        }
        if (d->at == DRAIN_BEGIN) {
            end_all(d);
            d->at = DRAIN_CANCEL;
        }
        if (manager_cancel_all_poll(cx, &d->all) == VOLT_PENDING)
            return VOLT_PENDING;
        if (d->all.ret == 0)
            return VOLT_READY;
        manager_cancel_all_fini(&d->all);
        volt_sleep_init(&d->rest, POST_AGAIN);
        d->at = DRAIN_REST;
    }
}

enum volt_poll manager_drain_poll(struct volt_cx *cx, struct manager_drain *d)
{
    if (d->at != DRAIN_WAIT) {
        if (d->cancel && end_all_poll(cx, d) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_init(&d->news, &d->manager->news);
        d->at = DRAIN_WAIT;
    }
    while (!drained(d)) {
        if (volt_notified_poll(cx, &d->news) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_fini(&d->news);
        volt_notified_init(&d->news, &d->manager->news);
    }
    return VOLT_READY;
}

void manager_drain_fini(struct manager_drain *d)
{
    if (d->at == DRAIN_WAIT)
        volt_notified_fini(&d->news);
    if (d->at == DRAIN_REST)
        volt_sleep_fini(&d->rest);
    manager_cancel_all_fini(&d->all);
    d->at = DRAIN_BEGIN;
}

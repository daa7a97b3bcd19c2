/* Steering: cancel, hold, release, pause, resume, edit, signal. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "daemon/auth/auth.h"
#include "daemon/core/agenda.h"
#include "daemon/core/cancel.h"
#include "daemon/core/edit.h"
#include "daemon/core/parts.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/holding.h"
#include "daemon/link/keeper_link.h"
#include "daemon/query/view.h"
#include "daemon/run/run.h"
#include "daemon/steer/steer.h"

static int cancel_some(struct tx *tx, struct job *job, int64_t offset,
                       struct steer_at *at)
{
    if (!at->begun) {
        int r = core_cancel(tx, job, offset);
        return r == 0 && job->array && offset == NO_OFFSET ? -EAGAIN : r;
    }
    int r = core_cancel_elements(tx, job, &at->offset);
    if (r == -ENOMEM)
        agenda_add(tx->core, job); /* the dispatcher goes on with it */
    return r;
}

static int hold_some(struct tx *tx, struct job *job, int64_t offset,
                     const struct asker *asker, struct steer_at *at)
{
    const struct hold by = {asker->who.uid, asker->who.uid != job->owner.uid};

    if (offset != NO_OFFSET)
        return -ENOTDIR;
    if (at->verb == STEER_RELEASE)
        return holding_release(tx, job, asker->who.uid,
                               auth_has(asker, AUTH_ADMIN_HOLDS));
    at->rests = true;
    return holding_job(tx, job, &by, at->begun);
}

static int pause_some(struct tx *tx, struct job *job, int64_t offset,
                      const struct asker *asker, struct steer_at *at)
{
    struct pausing *p = &at->pausing;

    p->on = at->verb == STEER_PAUSE;
    p->by = asker->who.uid;
    int r = pausing_step(tx, job, offset, p);
    at->rests = p->rests;
    return r;
}

static int edit(struct tx *tx, struct job *job, int64_t offset, const struct asker *asker,
                struct steer_at *at)
{
    if (offset != NO_OFFSET)
        return -ENOTDIR;
    return at->only_checks ? core_edit_check(tx, job, at->edit, &asker->who, &at->err)
                           : core_edit(tx, job, at->edit, &asker->who, &at->err);
}

static int steer(struct tx *tx, struct job *job, int64_t offset,
                 const struct asker *asker, struct steer_at *at)
{
    switch (at->verb) {
    case STEER_HOLD:
    case STEER_RELEASE:
        return hold_some(tx, job, offset, asker, at);
    case STEER_PAUSE:
    case STEER_RESUME:
        return pause_some(tx, job, offset, asker, at);
    case STEER_EDIT:
        return edit(tx, job, offset, asker, at);
    case STEER_CANCEL:
        break;
    }
    return cancel_some(tx, job, offset, at);
}

/* Returns whether the request was fulfilled before the job was purged. */
static bool is_fulfilled(const struct steer_at *at)
{
    return at->begun && (at->verb == STEER_CANCEL || at->pausing.any);
}

/* The job may be purged between two portions: it is looked up each time. */
int steer_step(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
               struct steer_at *at)
{
    struct tx tx;
    int64_t offset = NO_OFFSET;
    int r = is_fulfilled(at) ? 0 : -ENOENT;

    core_begin(&tx, core);
    core_charge(core, at->quota);
    struct job *job = jobs_find(core, asker, id, index, &offset);
    core_did(core, 1, 0, 0);
    if (job)
        r = steer(&tx, job, offset, asker, at);
    at->begun = true;
    dispatch_finish(&tx);
    return r;
}

void steer_cancel_later(struct core *core, const struct asker *asker, uint64_t id)
{
    int64_t offset;
    struct tx tx;

    core_begin(&tx, core);
    struct job *job = jobs_find(core, asker, id, JOB_NO_INDEX, &offset);
    if (job && !jobs_done(job))
        agenda_add(core, job);
    dispatch_finish(&tx);
}

void steer_leave(struct core *core, const struct asker *asker, uint64_t id,
                 const struct steer_at *at)
{
    if (at->verb == STEER_CANCEL && at->begun)
        steer_cancel_later(core, asker, id);
}

void steer_barrier_init(struct steer_barrier *b, struct core *core)
{
    store_barrier(parts_of(core)->store, &b->commit);
}

enum volt_poll steer_barrier_poll(struct volt_cx *cx, struct steer_barrier *b)
{
    return store_commit_poll(cx, &b->commit);
}

void steer_barrier_fini(struct steer_barrier *b)
{
    store_commit_fini(&b->commit);
}

/* Returns whether all other jobs would get the same error. */
static bool ends_all(int r)
{
    return r == -ENOMEM || r == -EINVAL || r == -ESTALE || store_refusal_text(r);
}

static int steer_view(void *arg, const struct job_view *v)
{
    struct steer_all *c = arg;
    struct steer_at at = {.verb = c->verb, .edit = c->edit, .quota = c->quota};

    if (v->orphan || v->status.state == JOB_DONE)
        return 0;
    int r = steer_step(c->core, &c->asker, v->key.id, v->key.index, &at);
    if (c->quota)
        c->quota->entries--; /* the walk has counted the job */
    c->ret_count += r == 0 || (r == -EAGAIN && c->verb == STEER_CANCEL);
    if (r == -EAGAIN) {
        c->left_any[c->nleft] = at.pausing.any;
        c->left[c->nleft++] = v->key.id;
    }
    if (r == -EINVAL) {
        c->err = at.err;
        c->ret_id = v->key.id;
    }
    return ends_all(r) ? r : 0;
}

static void begin_next(struct steer_all *c)
{
    c->nleft--;
    c->at = (struct steer_at){.begun = false};
}

/* Goes on with the last unfinished job. Returns as steer_step(). */
static int go_on(struct steer_all *c)
{
    c->at.begun = true;
    c->at.quota = c->quota;
    return steer_step(c->core, &c->asker, c->left[c->nleft - 1], JOB_NO_INDEX, &c->at);
}

/* Cancels a portion of the elements of the last array. */
static void cancel_elements(struct steer_all *c)
{
    int r = go_on(c);

    if (r == -EAGAIN)
        return;
    if (r == -ENOMEM)
        c->ret = r;
    begin_next(c);
}

/* Steers the last unfinished job; after a rest if its tasks have to act first. */
static enum volt_poll rested_poll(struct volt_cx *cx, struct steer_all *c)
{
    if (!c->rest.deadline_usec)
        volt_sleep_init(&c->rest, STEER_AGAIN);
    if (volt_sleep_poll(cx, &c->rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&c->rest);
    c->rest = (struct volt_sleep){0};
    c->at.verb = c->verb;
    c->at.pausing.any |= c->left_any[c->nleft - 1];
    int r = go_on(c);
    if (ends_all(r))
        c->ret = r;
    c->ret_count += r == 0;
    if (r != -EAGAIN)
        begin_next(c);
    return VOLT_READY;
}

/* Returns these states without DONE. */
static uint32_t but_done(uint32_t states)
{
    const uint32_t live = (1u << JOB_DONE) - 1;

    states = states ? states & live : live;
    return states ? states : 1u << JOB_STATE_COUNT; /* matches no job */
}

/* Steers a portion of the listed jobs that have not ended. */
static void steer_listed(struct volt_cx *cx, struct steer_all *c)
{
    struct job_filter f = *c->filter;
    const bool looks_far = c->edit && core_edit_may_close_circle(c->edit);
    struct query_walk w = {.cursor = c->cursor,
                           .limit = looks_far ? 1 : (quota_facts_left(c->quota) + 2) / 3,
                           .quota = c->quota,
                           .specs = QUERY_SPECS_NONE};

    f.states = but_done(f.states);
    c->ret = query_walk_step(cx, c->core, &c->asker, &f, &w, steer_view, c);
    c->cursor = w.cursor;
    c->listed = c->cursor == 0;
}

#define SLICES_PER_PACE 192

enum volt_poll steer_all_poll(struct volt_cx *cx, struct steer_all *c)
{
    if (c->pacing && steer_barrier_poll(cx, &c->pace) == VOLT_PENDING)
        return VOLT_PENDING;
    steer_barrier_fini(&c->pace);
    c->pacing = false;
    if (c->nleft && c->verb != STEER_CANCEL) {
        if (rested_poll(cx, c) == VOLT_PENDING)
            return VOLT_PENDING;
    } else if (c->nleft) {
        cancel_elements(c);
    } else {
        steer_listed(cx, c);
    }
    if (c->ret < 0 || (c->listed && !c->nleft))
        return VOLT_READY;
    c->pacing = c->paced && ++c->slices % SLICES_PER_PACE == 0 &&
                store_refusal(parts_of(c->core)->store) == 0;
    if (c->pacing)
        steer_barrier_init(&c->pace, c->core);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void steer_all_fini(struct steer_all *c)
{
    const struct steer_at begun = {.verb = c->verb, .begun = true};

    while (c->nleft > 0)
        steer_leave(c->core, &c->asker, c->left[--c->nleft], &begun);
    steer_barrier_fini(&c->pace);
    volt_sleep_fini(&c->rest);
}

/* --- signals ------------------------------------------------------------------------ */

/* Returns 0 and the key of the running attempt, and whose it is. */
static int running_key(struct steer_signal *s, struct job_key *ret, uid_t *ret_owner)
{
    struct job_view v;
    int r = query_get(s->core, &s->asker, s->id, s->index, &v);

    if (r < 0)
        return r;
    if (v.spec && !job_kinds[v.spec->kind].is_process)
        r = -EOPNOTSUPP;
    else if (v.has_counts && v.status.state != JOB_DONE)
        r = -EISDIR;
    else if (!v.status.pid || v.status.state == JOB_DONE)
        r = -ESRCH;
    *ret = v.key;
    *ret_owner = v.owner.uid;
    job_view_fini(&v);
    return r;
}

enum volt_poll steer_signal_poll(struct volt_cx *cx, struct steer_signal *s)
{
    struct keeper_call *call = s->pending;
    struct job_key key;
    uid_t owner;

    if (s->at == 0) {
        s->ret = running_key(s, &key, &owner);
        if (s->ret == 0 && !run_has_keeper(s->core))
            s->ret = -EOPNOTSUPP;
        if (s->ret < 0)
            return VOLT_READY;
        call = calloc(1, sizeof(*call));
        if (!call) {
            s->ret = -ENOMEM;
            return VOLT_READY;
        }
        keeper_call_init_signal(call, run_link(s->core, owner), &key, s->signal,
                                s->tree ? KEEPER_SCOPE_TREE : KEEPER_SCOPE_MAIN);
        s->pending = call;
        s->at = 1;
    }
    if (keeper_call_poll(cx, call) == VOLT_PENDING)
        return VOLT_PENDING;
    s->ret = keeper_call_status(call);
    return VOLT_READY;
}

void steer_signal_fini(struct steer_signal *s)
{
    if (s->pending) {
        keeper_call_fini(s->pending);
        free(s->pending);
    }
    s->pending = NULL;
}

/* Purging on demand: ended jobs leave memory, store and output folders before retention
 * ends, and their keys are freed; keys of jobs already purged as well.
 *
 * From newest to oldest, a slice at a time: list, remove from memory and append to the
 * store under one lock, wait for the commit, let others run. So a hundred thousand jobs
 * delay others by a slice now and then, and the store's groups stay small. Live jobs are
 * never touched; jobs that end during the walk may be missed. A job whose end is known is
 * waited for: its task may need a moment more, and so may the facts of jobs that wait for
 * it, which a restart would look for in vain. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/core/dependencies.h"
#include "daemon/core/each.h"
#include "daemon/core/keys.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/output/output.h"
#include "daemon/query/view.h"
#include "daemon/steer/steer.h"
#include "daemon/store/retention.h"

#define PAUSE_USEC UINT64_C(1000)
#define PAUSES_MAX 1000 /* per call: an end may wait for a disk */

struct forgetting {
    struct job_filter filter;
    uint64_t before_usec; /* jobs that ended later stay */
    struct query_walk walk;
    uint64_t seen; /* matching ended jobs so far: the newest stay */
    bool end;
    size_t n;
    size_t bytes;             /* of specs unpacked for a slice, plus its labels */
    uint64_t ids[JOBS_SLICE]; /* of a slice */
    struct siphash128 keys[JOBS_SLICE];
    struct store_commit commit;
    struct volt_sleep pause;
    struct volt_yield turn; /* for other tasks */
    unsigned pauses;
};

static int collect(void *arg, const struct job_view *v)
{
    struct steer_forget *f = arg;
    struct forgetting *p = f->pending;

    p->bytes += v->unpacked;
    uint64_t ended =
        v->status.ended_usec ? v->status.ended_usec : v->status.submitted_usec;

    if (v->orphan || (v->forgotten && !keys_is_name(v->key_name)) ||
        v->status.state != JOB_DONE || p->seen++ < f->keep || ended >= p->before_usec)
        return 0;
    p->keys[p->n] = v->spec && v->spec->key
                        ? keys_name(parts_of(f->core)->keys, v->owner.uid, v->spec->key)
                        : v->key_name;
    p->ids[p->n++] = v->key.id;
    return 0;
}

/* Lock held. Returns whether the job's end still has work to do, or is not stored; NULL:
 * not in memory. */
static bool is_at_work(const struct core *core, uint64_t id, const struct job *job)
{
    return (job && (job->tasks || job->unstored)) || dependencies_is_awaited(core, id);
}

/* Lock held. Removes the job from memory. False: it, or a part of it, has not ended. */
static bool leave(struct core *core, uint64_t id, struct siphash128 key, struct tx *tx)
{
    struct job *job = table_get(parts_of(core)->table, id);

    if ((job && !jobs_done(job)) || is_at_work(core, id, job))
        return false;
    keys_free(parts_of(core)->keys, key, id);
    if (job)
        job_leave(tx, job);
    return true;
}

static int forget_slice(struct steer_forget *f)
{
    struct forgetting *p = f->pending;
    struct core *core = f->core;
    struct tx tx;
    uint64_t gone[JOBS_SLICE];
    size_t n = 0;

    core_begin(&tx, core);
    for (size_t i = 0; i < p->n; i++)
        if (leave(core, p->ids[i], p->keys[i], &tx))
            gone[n++] = p->ids[i];
    tx.kick = true;
    core_did(core, p->n, 0, n);
    int r = store_forget(parts_of(core)->store, gone, n, &p->commit);
    dispatch_finish(&tx);
    f->ret_count += n;
    quota_charge(f->quota, 0, 0, n);
    return r;
}

/* Returns whether a job of the slice can go in a moment. One that is followed stays. */
static bool any_at_work(struct core *core, const struct forgetting *p)
{
    bool any = false;

    core_lock(core);
    for (size_t i = 0; i < p->n && !any; i++) {
        const struct job *job = table_get(parts_of(core)->table, p->ids[i]);

        any = (!job || jobs_done(job)) && is_at_work(core, p->ids[i], job) &&
              !each_is_followed(core, p->ids[i]);
    }
    core_unlock(core);
    return any;
}

/* Lists one portion per poll. READY: a slice is full, nothing is left, or f->ret < 0. */
static enum volt_poll list_poll(struct volt_cx *cx, struct steer_forget *f)
{
    struct forgetting *p = f->pending;

    p->walk.limit = JOBS_SLICE - p->n;
    f->ret = query_walk_step(cx, f->core, &f->asker, &p->filter, &p->walk, collect, f);
    p->end = !p->walk.cursor;
    if (f->ret < 0 || p->end || p->n == JOBS_SLICE || p->bytes >= QUOTA_BYTES)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void begin(struct steer_forget *f)
{
    struct forgetting *p = calloc(1, sizeof(*p));
    uint64_t now = jobs_now_usec();

    f->pending = p;
    if (!p)
        return;
    p->walk = (struct query_walk){.quota = f->quota, .kept = true, .keys = true};
    p->filter = *f->filter;
    p->filter.newest_first = true;
    p->filter.states = p->filter.states && !(p->filter.states & 1u << JOB_DONE)
                           ? 1u << JOB_STATE_COUNT /* matches no job */
                           : 1u << JOB_DONE;
    p->before_usec = f->older_usec < now ? now - f->older_usec : 0;
}

bool steer_is_followed(struct core *core, uint64_t id)
{
    core_lock(core);
    const bool is = each_is_followed(core, id);
    core_unlock(core);
    return is;
}

enum volt_poll steer_forget_poll(struct volt_cx *cx, struct steer_forget *f)
{
    struct forgetting *p = f->pending;

    VOLT_BEGIN(f->at);
    begin(f);
    p = f->pending;
    f->ret = p ? 0 : -ENOMEM;
    while (f->ret == 0 && !p->end) {
        p->n = p->bytes = 0;
        VOLT_AWAIT(f->at, list_poll(cx, f));
        if (f->ret < 0)
            break;
        while (any_at_work(f->core, p) && p->pauses++ < PAUSES_MAX) {
            volt_sleep_init(&p->pause, PAUSE_USEC);
            VOLT_AWAIT(f->at, volt_sleep_poll(cx, &p->pause));
            volt_sleep_fini(&p->pause);
        }
        f->ret = forget_slice(f);
        if (f->ret < 0)
            break;
        VOLT_AWAIT(f->at, store_commit_poll(cx, &p->commit));
        f->ret = p->commit.status;
        store_commit_fini(&p->commit);
        if (!p->end)
            VOLT_AWAIT(f->at, volt_yield_poll(cx, &p->turn));
    }
    VOLT_END(f->at);
}

void steer_forget_fini(struct steer_forget *f)
{
    struct forgetting *p = f->pending;

    if (p) {
        store_commit_fini(&p->commit);
        volt_sleep_fini(&p->pause);
    }
    free(p);
    f->pending = NULL;
}

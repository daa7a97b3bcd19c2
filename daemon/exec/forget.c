/* Forgetting on demand: ended jobs leave memory, store and output folders before their
 * time.
 *
 * From the newest to the oldest, a slice at a time: list, take out of memory and append
 * to the store under one lock, wait for the commit, let others run. So a hundred thousand
 * of them cost others a slice here and there, and the store's groups stay small. What has
 * not ended is never touched; what ends meanwhile may be missed. Whose end has been told
 * is waited for: its task may need a moment more than the news of it. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/exec/jobs.h"
#include "daemon/output/output.h"
#include "daemon/store/retention.h"

#define PAUSE_USEC UINT64_C(1000)
#define PAUSES_MAX 1000 /* of one call: its end may wait for a disk */

struct forgetting {
    struct manager_filter filter;
    uint64_t before_usec; /* what ended later stays */
    struct manager_walk walk;
    uint64_t seen; /* that match and have ended: the newest stay */
    bool end;
    size_t n;
    size_t bytes; /* of specs unpacked for one slice; for its labels once more */
    uint64_t ids[JOBS_SLICE]; /* of one slice */
    struct siphash128 keys[JOBS_SLICE];
    struct store_commit commit;
    struct volt_sleep pause;
    struct volt_yield turn; /* of others */
    unsigned pauses;
};

static int collect(void *arg, const struct job_view *v)
{
    struct manager_forget *f = arg;
    struct forgetting *p = f->pending;

    uint64_t ended =
        v->status.ended_usec ? v->status.ended_usec : v->status.submitted_usec;

    if (v->orphan || v->forgotten || v->status.state != JOB_DONE || p->seen++ < f->keep ||
        ended >= p->before_usec)
        return 0;
    p->keys[p->n] = v->spec && v->spec->key
                        ? keys_name(&f->manager->keys, v->owner.uid, v->spec->key)
                        : (struct siphash128){0, 0};
    p->ids[p->n++] = v->key.id;
    return 0;
}

/* Lock held. False: it is not ended, all of it. */
static bool leave(struct manager *m, uint64_t id, struct siphash128 key, struct tx *tx)
{
    struct job *job = table_get(&m->table, id);
    struct keys_entry *e = keys_is_name(key) ? keys_find(&m->keys, key) : NULL;

    if (job && (!jobs_done(job) || job->tasks))
        return false;
    if (e && e->id == id && !e->claim)
        keys_remove(&m->keys, e);
    past_remove(&m->past, id);
    if (job)
        job_leave(tx, job);
    return true;
}

static int forget_slice(struct manager_forget *f)
{
    struct forgetting *p = f->pending;
    struct manager *m = f->manager;
    struct tx tx;
    uint64_t gone[JOBS_SLICE];
    size_t n = 0;

    core_begin(&tx, m);
    for (size_t i = 0; i < p->n; i++)
        if (leave(m, p->ids[i], p->keys[i], &tx))
            gone[n++] = p->ids[i];
    tx.kick = true;
    manager_did(m, p->n, 0, n);
    int r = store_forget(m->store, gone, n, &p->commit);
    core_finish(&tx);
    if (!store_durable(m->store)) /* no store tells when */
        output_forget_later(&m->outputs, m->rt, gone, n);
    f->ret_count += n;
    f->facts = n;
    return r;
}

/* Has the task of any in the slice not gone yet? */
static bool any_at_work(struct manager *m, const struct forgetting *p)
{
    bool any = false;

    manager_lock(m);
    for (size_t i = 0; i < p->n && !any; i++) {
        const struct job *job = table_get(&m->table, p->ids[i]);

        any = job && jobs_done(job) && job->tasks;
    }
    manager_unlock(m);
    return any;
}

/* READY: there is a slice, or nothing more, or f->ret < 0. One portion of the list a
 * poll. */
static enum volt_poll list_poll(struct volt_cx *cx, struct manager_forget *f)
{
    struct forgetting *p = f->pending;

    p->walk.limit = JOBS_SLICE - p->n;
    p->walk.looks = f->looks ? f->looks : MANAGER_WALK_LOOKS;
    f->ret =
        manager_walk_step(cx, f->manager, &f->asker, &p->filter, &p->walk, collect, f);
    p->end = !p->walk.cursor;
    f->looked = p->walk.looked + p->walk.kept_looked * MANAGER_KEPT_COST;
    f->bytes = p->walk.unpacked;
    p->bytes += p->walk.unpacked;
    if (f->ret < 0 || p->end || p->n == JOBS_SLICE || p->bytes >= MANAGER_WALK_BYTES)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void begin(struct manager_forget *f)
{
    struct forgetting *p = calloc(1, sizeof(*p));
    uint64_t now = jobs_now_usec();

    f->pending = p;
    if (!p)
        return;
    p->walk = (struct manager_walk){
        .kept = true, .bytes = MANAGER_WALK_BYTES, .at_once = JOBS_SLICE};
    p->filter = *f->filter;
    p->filter.newest_first = true;
    p->filter.states = p->filter.states && !(p->filter.states & 1u << JOB_DONE)
                           ? 1u << JOB_STATE_COUNT /* that of no job */
                           : 1u << JOB_DONE;
    p->before_usec = f->older_usec < now ? now - f->older_usec : 0;
}

enum volt_poll manager_forget_poll(struct volt_cx *cx, struct manager_forget *f)
{
    struct forgetting *p = f->pending;

    f->looked = f->bytes = f->facts = 0;
    VOLT_BEGIN(f->at);
    begin(f);
    p = f->pending;
    f->ret = p ? 0 : -ENOMEM;
    while (f->ret == 0 && !p->end) {
        p->n = p->bytes = 0;
        VOLT_AWAIT(f->at, list_poll(cx, f));
        if (f->ret < 0)
            break;
        while (any_at_work(f->manager, p) && p->pauses++ < PAUSES_MAX) {
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

void manager_forget_fini(struct manager_forget *f)
{
    struct forgetting *p = f->pending;

    if (p) {
        store_commit_fini(&p->commit);
        volt_sleep_fini(&p->pause);
    }
    free(p);
    f->pending = NULL;
}

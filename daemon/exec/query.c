/* Views of jobs, and which a filter wants; events; counters. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/exec/history.h"
#include "daemon/store/reader.h"

#define SCAN_SLICE 500 /* events looked at per turn of the lock */

void job_view_fini(struct job_view *v)
{
    job_spec_unref(v->spec);
    v->spec = NULL;
}

/* --- filters ------------------------------------------------------------------------ */

static bool has_label(const struct job_spec *spec, const struct job_label *want)
{
    for (size_t i = 0; i < spec->nlabels; i++)
        if (strcmp(spec->labels[i].name, want->name) == 0 &&
            (!want->value || strcmp(spec->labels[i].value, want->value) == 0))
            return true;
    return false;
}

static bool spec_matches(const struct job_spec *spec, const struct manager_filter *f)
{
    if (f->name && (!spec || strcmp(job_spec_display_name(spec), f->name) != 0))
        return false;
    if (f->name_glob &&
        (!spec || fnmatch(f->name_glob, job_spec_display_name(spec), 0) != 0))
        return false;
    if (f->queue &&
        (!spec || strcmp(spec->queue ? spec->queue : "default", f->queue) != 0))
        return false;
    for (size_t i = 0; i < f->nlabels; i++)
        if (!spec || !has_label(spec, &f->labels[i]))
            return false;
    return true;
}

/* When an orphan was submitted, nobody knows. */
static bool time_matches(const struct job_view *v, const struct manager_filter *f)
{
    const uint64_t at = v->status.submitted_usec;

    return (!f->since_usec || at >= f->since_usec) &&
           (!f->until_usec || (at && at <= f->until_usec));
}

bool manager_status_wanted(const struct job_status *st, const struct manager_filter *f)
{
    return (!f->states || f->states & 1u << st->state) &&
           (!f->results || f->results & 1u << st->result);
}

static bool status_matches(const struct job_view *v, const struct manager_filter *f)
{
    return f->orphans == v->orphan && (!f->of_user || f->uid == v->owner.uid) &&
           manager_status_wanted(&v->status, f) && time_matches(v, f);
}

bool manager_matches(const struct job_view *v, const struct manager_filter *f)
{
    return status_matches(v, f) && spec_matches(v->spec, f);
}

/* --- views: lock held --------------------------------------------------------------- */

/* Longer than a keeper takes to kill a tree, or another one to begin. */
#define KEEPER_AWAY UINT64_C(2000000)

static bool needs_keeper(const struct manager *m, const struct job *job,
                         const struct job_view *v)
{
    return m->link && job->kind == JOB_KIND_EXEC && !v->has_counts &&
           (v->status.state == JOB_STARTING || v->status.state == JOB_STOPPING);
}

static void view_wait(struct manager *m, const struct job *job, struct job_view *v)
{
    v->wait = JOB_WAIT_NONE;
    if (v->status.state != JOB_DONE && v->survivors)
        v->wait = JOB_WAIT_SURVIVORS;
    if (needs_keeper(m, job, v) && keeper_link_away_usec(m->link) >= KEEPER_AWAY)
        v->wait = JOB_WAIT_KEEPER;
    if (v->status.state != JOB_QUEUED || !job->node.queued)
        return;
    v->wait_position = queue_position(&m->queue, &job->node);
    v->wait = v->wait_position ? JOB_WAIT_TURN : JOB_WAIT_SLOT;
}

void jobs_view_array(const struct array *a, struct job_view *v)
{
    v->status = array_status(a);
    v->has_counts = true;
    v->total = a->total;
    v->queued = a->by_state[JOB_QUEUED];
    v->running = array_busy(a);
    v->done = a->by_state[JOB_DONE];
    v->failed = array_failed(a);
    v->exit_code = a->exit_code;
}

static void view_survivors(const struct job *job, int64_t offset, struct job_view *v)
{
    const struct work *w = jobs_live(job, offset);

    v->survivors = v->status.survivors;
    if (v->status.named)
        v->named = *v->status.named;
    if (!w || !w->left || v->status.state == JOB_DONE)
        return;
    v->survivors = w->left->n;
    v->named = w->left->named;
}

/* All but what costs something: the spec of one that is dormant, its place in the
 * queue. */
static void view_cheap(struct job *job, int64_t offset, struct job_view *ret)
{
    *ret = (struct job_view){
        .key = jobs_key(job, offset), .owner = job->owner, .durable = job->durable};
    if (job->array && offset == NO_OFFSET)
        jobs_view_array(job->array, ret);
    else if (job->array)
        ret->status = array_element(job->array, offset);
    else
        ret->status = job->status;
    if (!ret->has_counts)
        view_survivors(job, offset, ret);
    if (!ret->has_counts && ret->status.state == JOB_DONE)
        ret->exit_code = job_exit_code(&ret->status);
}

static void view_spec(struct manager *m, const struct job *job, struct job_view *ret)
{
    ret->unpacked = job->spec ? 0 : job->bytes;
    ret->spec = job_spec_of(job);
    manager_did(m, 0, ret->unpacked, 0);
}

void jobs_view(struct manager *m, struct job *job, int64_t offset, struct job_view *ret)
{
    view_cheap(job, offset, ret);
    view_spec(m, job, ret);
    view_wait(m, job, ret);
}

static bool asks_for_spec(const struct manager_filter *f)
{
    return f->name || f->name_glob || f->queue || f->nlabels;
}

struct job_spec *jobs_brief_spec(struct manager *m, const struct job *job,
                                 size_t *ret_unpacked)
{
    struct job_spec *spec;

    *ret_unpacked = 0;
    if (job->spec)
        return job_spec_ref(job->spec);
    int r = dormant_peek(job->dormant, &spec, ret_unpacked);
    manager_did(m, 0, *ret_unpacked, 0);
    return r < 0 ? NULL : spec;
}

/* A pattern takes time by its length and that of the name: so much counts as unpacked. */
#define GLOB_STEPS_PER_BYTE 16

static bool spec_matches_in_slice(struct manager *m, const struct job_spec *spec,
                                  const struct manager_filter *f)
{
    if (f->name_glob)
        manager_did(m, 0,
                    strlen(f->name_glob) * strlen(job_spec_display_name(spec)) /
                        GLOB_STEPS_PER_BYTE,
                    0);
    return spec_matches(spec, f);
}

static bool job_matches(struct manager *m, const struct job *job,
                        const struct manager_filter *f)
{
    size_t unpacked;

    if (!asks_for_spec(f))
        return true;
    struct job_spec *spec = jobs_brief_spec(m, job, &unpacked);
    bool matches = spec && spec_matches_in_slice(m, spec, f);
    job_spec_unref(spec);
    return matches;
}

/* Unpacked once where that is enough. */
static bool brief_matches(struct manager *m, const struct job *job,
                          const struct manager_filter *f, struct job_view *ret)
{
    ret->spec = jobs_brief_spec(m, job, &ret->unpacked);
    if (!asks_for_spec(f) || (ret->spec && spec_matches_in_slice(m, ret->spec, f)))
        return true;
    job_view_fini(ret);
    return false;
}

bool jobs_view_wanted(struct manager *m, struct job *job, const struct manager_filter *f,
                      enum manager_specs specs, struct job_view *ret)
{
    view_cheap(job, NO_OFFSET, ret);
    if (!status_matches(ret, f))
        return false;
    if (specs == MANAGER_SPECS_BRIEF ? !brief_matches(m, job, f, ret)
                                     : !job_matches(m, job, f))
        return false;
    if (specs == MANAGER_SPECS_WHOLE)
        view_spec(m, job, ret);
    view_wait(m, job, ret);
    return true;
}

bool jobs_view_element(struct manager *m, struct job *array, int64_t offset,
                       const struct manager_filter *f, struct job_view *ret)
{
    view_cheap(array, offset, ret);
    if (!manager_status_wanted(&ret->status, f))
        return false;
    view_spec(m, array, ret);
    view_wait(m, array, ret);
    return true;
}

bool jobs_wanted_of_event(struct manager *m, struct job *job,
                          const struct manager_filter *f)
{
    struct job_view v;

    view_cheap(job, NO_OFFSET, &v);
    return !f->orphans && (!f->of_user || f->uid == v.owner.uid) && time_matches(&v, f) &&
           job_matches(m, job, f);
}

void jobs_view_orphan(const struct orphan *o, struct job_view *ret)
{
    *ret = (struct job_view){.key = o->key,
                             .owner = {.uid = getuid(), .gid = getgid()},
                             .status = o->status,
                             .survivors = o->status.survivors,
                             .durable = true, /* the record is */
                             .orphan = true};
    if (o->status.named)
        ret->named = *o->status.named;
    if (ret->status.state == JOB_DONE)
        ret->exit_code = job_exit_code(&ret->status);
}

struct job *jobs_find(struct manager *m, uid_t uid, uint64_t id, int64_t index,
                      int64_t *ret_offset)
{
    struct job *job = table_get(&m->table, id);

    if (!job || !jobs_visible(uid, job->owner.uid))
        return NULL;
    *ret_offset = NO_OFFSET;
    if (index < 0)
        return job;
    *ret_offset = job->array && !array_is_counts(job->array)
                      ? job_spec_offset(job->spec, index)
                      : -1;
    return *ret_offset < 0 ? NULL : job;
}

/* --- events, counters, output ------------------------------------------------------- */

uint64_t manager_event_seq(const struct manager *m)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&m->lock;

    pthread_mutex_lock(lock);
    uint64_t seq = m->ring.seq;
    pthread_mutex_unlock(lock);
    return seq;
}

size_t manager_events_read(struct manager *m, const struct job_owner *asker,
                           uint64_t after, struct job_news *buf, size_t max,
                           uint64_t *ret_next, uint64_t *ret_lost)
{
    size_t n;

    *ret_next = after;
    *ret_lost = 0;
    for (;;) {
        uint64_t lost, from = *ret_next;

        manager_lock(m);
        n = event_ring_read(&m->ring, asker->uid, from, buf, max, SCAN_SLICE, ret_next,
                            &lost);
        manager_did(m, *ret_next - from - lost, 0, 0);
        bool end = *ret_next == m->ring.seq;
        manager_unlock(m);
        *ret_lost += lost;
        if (n || end || !max)
            return n;
    }
}

struct volt_notify *manager_events_notify(struct manager *m)
{
    return &m->news;
}

static void count_watchers(struct manager *m, uint32_t by)
{
    struct tx tx;

    core_begin(&tx, m);
    tx.kick = true; /* what was not in a hurry before */
    pthread_mutex_lock(&m->log_lock);
    m->watchers += by;
    pthread_mutex_unlock(&m->log_lock);
    core_finish(&tx);
}

void manager_log_begin(struct manager *m)
{
    count_watchers(m, 1);
}

void manager_log_end(struct manager *m)
{
    count_watchers(m, UINT32_MAX);
}

uint64_t manager_log_seq(struct manager *m)
{
    pthread_mutex_lock(&m->log_lock);
    uint64_t seq = m->log.seq;
    pthread_mutex_unlock(&m->log_lock);
    return seq;
}

uint64_t manager_log_first(struct manager *m)
{
    return m->log.base; /* never changes */
}

size_t manager_log_read(struct manager *m, const struct job_owner *asker, uint64_t after,
                        struct job_news *buf, size_t max, size_t looks,
                        uint64_t *ret_next, uint64_t *ret_lost)
{
    pthread_mutex_lock(&m->log_lock);
    size_t n =
        event_ring_read(&m->log, asker->uid, after, buf, max, looks, ret_next, ret_lost);
    pthread_mutex_unlock(&m->log_lock);
    return n;
}

struct audience *manager_log_audience(struct manager *m)
{
    return &m->log_audience;
}

bool manager_log_ahead(struct manager *m)
{
    manager_lock(m);
    bool ahead = m->entering > 0;
    manager_unlock(m);
    return ahead;
}

bool manager_durable(const struct manager *m)
{
    return store_durable(m->store);
}

void manager_counts(struct manager *m, struct manager_counts *ret)
{
    struct store_read_counts most;

    store_read_most(m->store, &most);
    manager_lock(m);
    *ret = m->counts;
    ret->read_rows = most.rows;
    ret->read_bytes = most.bytes;
    ret->slots = m->queue.slots;
    ret->slots_used = m->queue.used;
    ret->told = vat_u64_load(&m->told, VAT_RLX);
    manager_unlock(m);
}

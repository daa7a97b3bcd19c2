/* Questions: one job, events, counters, output. Lists: list.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/exec/history.h"

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
            strcmp(spec->labels[i].value, want->value) == 0)
            return true;
    return false;
}

static bool spec_matches(const struct job_spec *spec, const struct manager_filter *f)
{
    if (f->name && (!spec || strcmp(job_spec_display_name(spec), f->name) != 0))
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

static bool status_matches(const struct job_view *v, const struct manager_filter *f)
{
    return f->orphans == v->orphan && (!f->states || f->states & 1u << v->status.state) &&
           (!f->results || f->results & 1u << v->status.result) && time_matches(v, f);
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
    return f->name || f->queue || f->nlabels;
}

/* A dormant spec is unpacked without its environment, which no filter looks at: that is
 * most of it. */
static bool job_matches(struct manager *m, const struct job *job,
                        const struct manager_filter *f)
{
    struct job_spec *spec;
    size_t n;

    if (!asks_for_spec(f))
        return true;
    if (job->spec)
        return spec_matches(job->spec, f);
    int r = dormant_peek(job->dormant, &spec, &n);
    manager_did(m, 0, n, 0);
    if (r < 0)
        return false;
    bool matches = spec_matches(spec, f);
    job_spec_unref(spec);
    return matches;
}

bool jobs_view_wanted(struct manager *m, struct job *job, const struct manager_filter *f,
                      struct job_view *ret)
{
    view_cheap(job, NO_OFFSET, ret);
    if (!status_matches(ret, f) || !job_matches(m, job, f))
        return false;
    view_spec(m, job, ret);
    view_wait(m, job, ret);
    return true;
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

static void view_past(const struct past_range *r, uint64_t id, struct job_view *ret)
{
    *ret = (struct job_view){.key = {.id = id, .index = JOB_NO_INDEX},
                             .owner = {.uid = r->uid},
                             .status = {.state = JOB_DONE,
                                        .result = r->result,
                                        .code = r->code,
                                        .ended_usec = r->ended_usec},
                             .forgotten = true};
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
    if (!job->array || (uint64_t)index < job->spec->array_first ||
        (uint64_t)index > job->spec->array_last)
        return NULL;
    *ret_offset = index - (int64_t)job->spec->array_first;
    return job;
}

static int get_locked(struct manager *m, uid_t uid, uint64_t id, int64_t index,
                      struct job_view *ret)
{
    int64_t offset;
    struct job *job = jobs_find(m, uid, id, index, &offset);
    const struct past_range *past;
    const struct orphan *o;

    if (job) {
        jobs_view(m, job, offset, ret);
        return 0;
    }
    past = index < 0 ? past_find(&m->past, id) : NULL;
    if (past && jobs_visible(uid, past->uid)) {
        view_past(past, id, ret);
        return 0;
    }
    o = jobs_visible(uid, getuid()) ? orphans_find(m, id, index) : NULL;
    if (!o)
        return -ENOENT;
    jobs_view_orphan(o, ret);
    return 0;
}

int manager_get(struct manager *m, const struct job_owner *asker, uint64_t id,
                int64_t index, struct job_view *ret)
{
    struct aftermath after;

    aftermath_init(&after);
    manager_lock(m);
    int r = get_locked(m, asker->uid, id, index, ret);
    manager_unlock(m, &after);
    return r;
}

int manager_look(struct volt_cx *cx, struct manager *m, const struct job_owner *asker,
                 uint64_t id, int64_t index, struct job_view *ret)
{
    int r = manager_get(m, asker, id, index, ret), kept;
    struct job_view view;

    if ((r == 0 && !ret->forgotten) || id > history_max(m))
        return r;
    kept = history_get(cx, m, asker->uid, id, index, &view);
    if (kept < 0)
        return kept == -ENOENT ? r : kept; /* a view of the past holds nothing */
    *ret = view;
    return 0;
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
        struct aftermath none = {0};
        uint64_t lost, from = *ret_next;

        manager_lock(m);
        n = event_ring_read(&m->ring, asker->uid, from, buf, max, SCAN_SLICE, ret_next,
                            &lost);
        manager_did(m, *ret_next - from - lost, 0, 0);
        bool end = *ret_next == m->ring.seq;
        manager_unlock(m, &none);
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
    struct aftermath after = {.kick = true}; /* what was not in a hurry before */

    manager_lock(m);
    pthread_mutex_lock(&m->log_lock);
    m->watchers += by;
    pthread_mutex_unlock(&m->log_lock);
    manager_unlock(m, &after);
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
    struct aftermath after = {0};

    manager_lock(m);
    bool ahead = m->entering > 0;
    manager_unlock(m, &after);
    return ahead;
}

bool manager_durable(const struct manager *m)
{
    return store_durable(m->store);
}

void manager_counts(struct manager *m, struct manager_counts *ret)
{
    struct aftermath after = {0};

    manager_lock(m);
    *ret = m->counts;
    ret->slots = m->queue.slots;
    ret->slots_used = m->queue.used;
    manager_unlock(m, &after);
}

static bool prints_there(const struct job_view *v, enum job_stream stream)
{
    const struct job_spec *spec = v->spec;

    return spec && v->status.attempt > 0 && spec->kind == JOB_KIND_EXEC &&
           spec->output == JOB_OUTPUT_FILE &&
           (stream == JOB_STDOUT || spec->output_split);
}

/* It printed there, and it was nothing: no file and no row. Of an orphan only the record
 * is known: the file that is not there was empty when it was given up. */
static bool printed_nothing(const struct job_view *v, enum job_stream stream)
{
    if (v->status.state != JOB_DONE)
        return false;
    if (v->orphan)
        return stream == JOB_STDOUT;
    return !(v->status.kept & JOB_KEPT_FILE(stream)) && prints_there(v, stream);
}

/* There is no file, and no row: there should be the file. */
static bool was_removed(const struct job_view *v, enum job_stream stream)
{
    const enum job_state state = (enum job_state)v->status.state;

    if (state == JOB_DONE)
        return v->status.kept & JOB_KEPT_FILE(stream);
    return !v->orphan && v->status.pid > 0 && prints_there(v, stream) &&
           (state == JOB_RUNNING || state == JOB_STOPPING);
}

int manager_open_output(struct volt_cx *cx, struct manager *m,
                        const struct job_owner *asker, uint64_t id, int64_t index,
                        enum job_stream stream)
{
    bool ended = false;
    int r;

    for (;;) {
        struct job_view v;
        bool before = ended;

        r = manager_look(cx, m, asker, id, index, &v);
        if (r < 0)
            return r;
        ended = v.status.state == JOB_DONE;
        r = v.has_counts ? -EISDIR
                         : output_open(&m->outputs, m->store, &v.key, stream, ended);
        /* Output goes with its job, at once: while the one is there, so is the other. */
        if (r == -ENODATA && v.status.kept & JOB_KEPT_STORE(stream) &&
            store_has(m->store, id) > 0)
            r = -EBADMSG;
        bool nothing = r == -ENODATA && printed_nothing(&v, stream);
        bool removed = r == -ENODATA && was_removed(&v, stream);
        bool running = !ended && v.status.state != JOB_QUEUED;
        job_view_fini(&v);
        if (nothing)
            return output_open_empty();
        /* It has ended since, perhaps, and given its file up. */
        if (r != -ENODATA || !running || before)
            return removed ? -ESTALE : r;
        ended = true;
    }
}

char *manager_output_path(struct manager *m, const struct job_key *key,
                          enum job_stream stream)
{
    return output_path_text(&m->outputs, key, stream);
}

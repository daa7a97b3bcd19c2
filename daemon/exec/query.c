/* Questions: one job, many jobs, events, counters, output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/exec/jobs.h"

#define SCAN_SLICE 1024 /* table entries looked at per turn of the lock */

void job_view_fini(struct job_view *v)
{
    job_spec_unref(v->spec);
    v->spec = NULL;
}

/* --- views: lock held --------------------------------------------------------------- */

static void view_wait(struct manager *m, const struct job *job, struct job_view *v)
{
    v->wait = JOB_WAIT_NONE;
    if (v->status.state != JOB_QUEUED || !job->node.queued)
        return;
    v->wait_position = queue_position(&m->queue, &job->node);
    v->wait = v->wait_position ? JOB_WAIT_TURN : JOB_WAIT_SLOT;
}

static void view_array(const struct job *job, struct job_view *v)
{
    const struct array *a = job->array;

    v->status = a->worst;
    v->status.submitted_usec = job->status.submitted_usec;
    v->status.cancel_asked = a->cancelled_usec != 0;
    v->has_counts = true;
    v->total = a->total;
    v->queued = a->queued;
    v->running = a->running;
    v->done = a->done;
    v->failed = a->failed;
    if (a->done == a->total) {
        v->status.state = JOB_DONE;
    } else {
        v->status.result = JOB_RESULT_NONE;
        v->status.state = (uint8_t)(a->cancelled_usec      ? JOB_STOPPING
                                    : a->running + a->done ? JOB_RUNNING
                                                           : JOB_QUEUED);
    }
    v->exit_code = a->exit_code;
}

/* An element, also one that nothing is known of but its array. */
static void view_element(const struct job *job, int64_t offset, struct job_view *v)
{
    const struct element *e = jobs_element(job, offset);

    if (e && e->status.submitted_usec) {
        v->status = e->status;
        return;
    }
    v->status = (struct job_status){.submitted_usec = job->status.submitted_usec};
    if (job->array->cancelled_usec) {
        v->status.state = JOB_DONE;
        v->status.result = JOB_RESULT_CANCELLED;
        v->status.cancel_asked = true;
        v->status.ended_usec = job->array->cancelled_usec;
    }
}

static void view_of(struct manager *m, struct job *job, int64_t offset,
                    struct job_view *ret)
{
    *ret = (struct job_view){.key = jobs_key(job, offset),
                             .owner = job->owner,
                             .spec = job_spec_of(job),
                             .durable = job->durable};
    if (job->array && offset == NO_OFFSET)
        view_array(job, ret);
    else if (job->array)
        view_element(job, offset, ret);
    else
        ret->status = job->status;
    view_wait(m, job, ret);
    if (!ret->has_counts && ret->status.state == JOB_DONE)
        ret->exit_code = job_exit_code(&ret->status);
}

static void view_orphan(const struct orphan *o, struct job_view *ret)
{
    *ret = (struct job_view){.key = o->key,
                             .owner = {.uid = getuid(), .gid = getgid()},
                             .status = o->status,
                             .durable = true, /* the record is */
                             .orphan = true};
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
        view_of(m, job, offset, ret);
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
    view_orphan(o, ret);
    return 0;
}

int manager_get(struct manager *m, const struct job_owner *asker, uint64_t id,
                int64_t index, struct job_view *ret)
{
    struct aftermath after = {0};

    manager_lock(m);
    int r = get_locked(m, asker->uid, id, index, ret);
    manager_unlock(m, &after);
    return r;
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

bool manager_matches(const struct job_view *v, const struct manager_filter *f)
{
    if (f->orphans != v->orphan)
        return false;
    if (f->states && !(f->states & 1u << v->status.state))
        return false;
    if (f->results && !(f->results & 1u << v->status.result))
        return false;
    return spec_matches(v->spec, f);
}

/* --- lists -------------------------------------------------------------------------- */

struct listing {
    struct manager *m;
    uid_t uid;
    const struct manager_filter *f;
    uint64_t at;          /* id of the last one looked at */
    size_t at_key;        /* of keys: how many were looked at */
    struct job_key *keys; /* sorted copy of the filter's; NULL: it has none */
    bool end;
};

static int by_id(const void *a, const void *b)
{
    const struct job_key *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Lock held. Fills views with matches after l->at until SCAN_SLICE entries were looked at
 * or max is reached. */
static size_t slice_of_table(struct listing *l, struct job_view *views, size_t max)
{
    size_t steps = SCAN_SLICE, n = 0;

    while (n < max && steps > 0) {
        struct job *job;
        uint64_t id = l->f->newest_first ? table_prev(&l->m->table, l->at, &steps, &job)
                                         : table_next(&l->m->table, l->at, &steps, &job);

        if (!id) {
            l->end = true;
            break;
        }
        l->at = id;
        if (!job)
            break;
        if (!jobs_visible(l->uid, job->owner.uid))
            continue;
        view_of(l->m, job, NO_OFFSET, &views[n]);
        if (manager_matches(&views[n], l->f))
            n++;
        else
            job_view_fini(
                &views[n]); /* the table holds a reference too: nothing is freed */
    }
    return n;
}

static size_t slice_of_keys(struct listing *l, struct job_view *views, size_t max)
{
    size_t n = 0, steps = SCAN_SLICE;

    for (; n < max && steps > 0 && l->at_key < l->f->nkeys; l->at_key++, steps--) {
        size_t i = l->f->newest_first ? l->f->nkeys - 1 - l->at_key : l->at_key;
        const struct job_key *key = &l->keys[i];
        struct manager_filter f = *l->f;

        if (get_locked(l->m, l->uid, key->id, key->index, &views[n]) < 0)
            continue;
        f.orphans = views[n].orphan; /* named is named */
        if (manager_matches(&views[n], &f))
            n++;
        else
            job_view_fini(&views[n]);
    }
    l->end = l->at_key == l->f->nkeys;
    return n;
}

/* Whether the keys have this one, or the array that it is an element of. */
static bool has_key(const struct listing *l, const struct job_key *key)
{
    const struct job_key wanted[] = {*key, {.id = key->id, .index = JOB_NO_INDEX}};

    if (!l->keys)
        return true;
    for (size_t i = 0; i < 2; i++)
        if (bsearch(&wanted[i], l->keys, l->f->nkeys, sizeof(*l->keys), by_id))
            return true;
    return false;
}

static size_t slice_of_orphans(struct listing *l, struct job_view *views, size_t max)
{
    size_t n = 0;

    l->end = true;
    if (!jobs_visible(l->uid, getuid()))
        return 0;
    for (size_t i = 0; i < l->m->norphans; i++) {
        const struct orphan *o =
            &l->m->orphans[l->f->newest_first ? l->m->norphans - 1 - i : i];

        if (l->f->newest_first ? o->key.id >= l->at : o->key.id <= l->at)
            continue;
        /* Attempts and elements of one id stay together: the cursor is an id. */
        if (n == max || (n + 8 > max && n && views[n - 1].key.id != o->key.id)) {
            l->end = false;
            break;
        }
        view_orphan(o, &views[n]);
        if (has_key(l, &o->key) && manager_matches(&views[n], l->f))
            n++;
    }
    if (n)
        l->at = views[n - 1].key.id;
    return n;
}

static size_t next_slice(struct listing *l, struct job_view *views, size_t max)
{
    struct aftermath after = {0};
    size_t n;

    manager_lock(l->m);
    if (l->f->orphans)
        n = slice_of_orphans(l, views, max);
    else if (l->keys)
        n = slice_of_keys(l, views, max);
    else
        n = slice_of_table(l, views, max);
    manager_unlock(l->m, &after);
    return n;
}

static int keys_begin(struct listing *l, uint64_t cursor)
{
    if (!l->f->keys)
        return 0;
    l->at_key = cursor < l->f->nkeys ? (size_t)cursor : l->f->nkeys;
    l->keys = malloc((l->f->nkeys + 1) * sizeof(*l->keys));
    if (!l->keys)
        return -ENOMEM;
    memcpy(l->keys, l->f->keys, l->f->nkeys * sizeof(*l->keys));
    qsort(l->keys, l->f->nkeys, sizeof(*l->keys), by_id);
    return 0;
}

int manager_list(struct manager *m, const struct job_owner *asker,
                 const struct manager_filter *f, uint64_t cursor, size_t limit,
                 int (*fn)(void *arg, const struct job_view *v), void *arg,
                 uint64_t *ret_cursor)
{
    struct listing l = {.m = m, .uid = asker->uid, .f = f, .at = cursor};
    struct job_view views[JOBS_SLICE];
    int r = keys_begin(&l, cursor);

    if (f->newest_first && !cursor)
        l.at = UINT64_MAX;
    while (r == 0 && limit && !l.end) {
        size_t n = next_slice(&l, views, limit < JOBS_SLICE ? limit : JOBS_SLICE);

        limit -= n;
        for (size_t i = 0; i < n; i++) {
            if (r == 0)
                r = fn(arg, &views[i]);
            job_view_fini(&views[i]);
        }
    }
    *ret_cursor = l.end ? 0 : l.keys && !f->orphans ? l.at_key : l.at;
    free(l.keys);
    return r;
}

/* --- events, counters, output ------------------------------------------------------- */

uint64_t manager_event_first(const struct manager *m)
{
    return m->ring.base;
}

uint64_t manager_event_seq(const struct manager *m)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&m->lock;

    pthread_mutex_lock(lock);
    uint64_t seq = m->ring.seq;
    pthread_mutex_unlock(lock);
    return seq;
}

size_t manager_events_read(struct manager *m, const struct job_owner *asker,
                           uint64_t after, struct manager_event *buf, size_t max,
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

int manager_open_output(struct manager *m, const struct job_owner *asker, uint64_t id,
                        int64_t index, enum manager_stream stream)
{
    struct job_view v;
    int r = manager_get(m, asker, id, index, &v);

    if (r < 0)
        return r;
    r = v.has_counts ? -ENODATA : output_open(m, &v.key, stream);
    job_view_fini(&v);
    return r;
}

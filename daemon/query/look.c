/* Looks at single jobs and elements, in memory and in the store, and at their output. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <volt/task.h>

#include "daemon/auth/auth.h"
#include "daemon/core/parts.h"
#include "daemon/core/phase.h"
#include "daemon/core/table.h"
#include "daemon/output/output.h"
#include "daemon/query/history.h"
#include "daemon/query/view.h"
#include "daemon/store/reader.h"

#define NEIGHBOUR 4 /* elements at most this far apart are read together */

/* Lock held. Returns whether the store may know more than memory. */
static bool is_kept_only(const struct core *core, uint64_t id, int64_t index)
{
    const struct job *job = table_get(parts_of(core)->table, id);

    if (job)
        return index >= 0 && job->array && array_is_counts(job->array);
    return id <= jobs_forgotten_max(core);
}

static int get_locked(struct core *core, const struct asker *asker, uint64_t id,
                      int64_t index, bool status_only, struct job_view *ret)
{
    int64_t offset;
    struct job *job = jobs_find(core, asker, id, index, &offset);
    const struct orphan *o;

    if (job) {
        if (status_only)
            jobs_view_status(job, offset, ret);
        else
            jobs_view(core, job, offset, ret);
        return 0;
    }
    o = auth_sees(asker, getuid()) ? orphans_find(parts_of(core)->orphans, id, index)
                                   : NULL;
    if (!o)
        return -ENOENT;
    jobs_view_orphan(o, ret);
    return 0;
}

/* Like query_get(). *ret_deeper: ask the store as well. */
static int get(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
               bool status_only, struct job_view *ret, bool *ret_deeper)
{
    core_lock(core);
    int r = get_locked(core, asker, id, index, status_only, ret);
    *ret_deeper = r < 0 && is_kept_only(core, id, index);
    core_unlock(core);
    return r;
}

int query_get(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct job_view *ret)
{
    bool deeper;

    return get(core, asker, id, index, false, ret, &deeper);
}

int query_look(struct volt_cx *cx, struct core *core, const struct asker *asker,
               uint64_t id, int64_t index, struct job_view *ret)
{
    struct query_looks l = {.core = core, .asker = *asker, .kept = true, .most = 1};
    int r = query_looks_next(cx, &l, &(struct job_key){.id = id, .index = index}, ret);

    query_looks_fini(&l);
    return r;
}

/* Lock held. Like query_wants(); an element is filtered by its array's spec. *ret_spec: a
 * new reference to match without the lock; NULL: not needed. */
static int wants_locked(struct core *core, const struct asker *asker,
                        const struct job_key *key, const struct job_filter *f,
                        struct job_spec **ret_spec)
{
    struct job_filter rest = *f;
    struct job *job = table_get(parts_of(core)->table, key->id);
    struct job_view v;

    if (job && auth_sees(asker, job->owner.uid))
        return jobs_wanted_of_event(core, job, f, ret_spec);
    if (job || get_locked(core, asker, key->id, key->index, true, &v) < 0)
        return -ENOENT;
    rest.states = rest.results = 0;
    rest.orphans |= v.orphan;
    return job_filter_wants_view(&v, &rest); /* a view without a spec */
}

int query_wants(struct core *core, const struct asker *asker, const struct job_key *key,
                const struct job_filter *f, struct quota *quota)
{
    struct job_spec *spec = NULL;

    core_lock(core);
    int r = wants_locked(core, asker, key, f, &spec);
    quota_charge(quota, 0, parts_of(core)->held->bytes + job_filter_cost(spec, f), 0);
    core_did(core, 1, 0, 0);
    core_unlock(core);
    if (spec) /* without the lock: a pattern may take long */
        r = job_filter_wants_spec(spec, f);
    job_spec_unref(spec);
    return r;
}

int query_brief_spec(struct core *core, uint64_t id, struct job_spec **ret,
                     struct quota *quota)
{
    size_t bytes = 0;
    int r = 0;

    core_lock(core);
    const struct job *job = table_get(parts_of(core)->table, id);
    if (job)
        r = (*ret = jobs_brief_spec(core, job, &bytes)) ? 0 : -ENOMEM;
    else /* an earlier job may be purged while later submissions are entering */
        r = phase_entering(core) > 0 && id > jobs_forgotten_max(core) ? -EAGAIN : -ENOENT;
    core_did(core, 1, 0, 0);
    core_unlock(core);
    quota_charge(quota, 0, bytes, 0);
    return r;
}

/* --- many --------------------------------------------------------------------------- */

/* Copies the element's view from the page. -ENOENT: not in it. */
static int view_of_page(const struct history *h, const struct job_key *key,
                        struct job_view *ret)
{
    for (size_t i = 0; h && i < h->n; i++) {
        const struct job_view *v = &h->views[i];

        if (v->key.id != key->id || v->key.index != key->index)
            continue;
        *ret = *v;
        if (ret->spec)
            ret->spec = job_spec_ref(ret->spec);
        return 0;
    }
    return -ENOENT;
}

/* Returns the last of the ids that memory does not know either, from `first` to at most
 * `last`. */
static uint64_t end_of_run(struct core *core, uint64_t first, uint64_t last)
{
    uint64_t id = first;

    core_lock(core);
    while (id < last && !table_get(parts_of(core)->table, id + 1))
        id++;
    core_did(core, id - first, 0, 0);
    core_unlock(core);
    return id;
}

/* Chooses the page: a job, with those that are looked at next; an element, with those
 * near it if it is near the previous one. */
static void choose_page(const struct query_looks *l, const struct job_key *key,
                        struct history *h)
{
    const int64_t more = (int64_t)(l->most < JOBS_SLICE ? l->most : JOBS_SLICE) - 1;
    const int64_t by = key->index - l->index;

    h->index = h->index_last = key->index;
    if (key->index < 0 && l->last > key->id) {
        const uint64_t last = key->id + (uint64_t)more;

        h->last = end_of_run(l->core, key->id, last < l->last ? last : l->last);
        h->max = h->last - h->first + 1;
    }
    if (key->index < 0 || key->id != l->id || l->index < 0)
        return;
    if (by > 0 && by <= NEIGHBOUR)
        h->index_last += more;
    else if (by < 0 && by >= -NEIGHBOUR)
        h->index -= more < h->index ? more : h->index;
}

static int read_page(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                     bool alone, struct job_view *ret)
{
    query_looks_fini(l);
    l->page = calloc(1, sizeof(*l->page));
    if (!l->page)
        return -ENOMEM;
    *l->page = (struct history){.core = l->core,
                                .asker = l->asker,
                                .first = key->id,
                                .last = key->id,
                                .newest_first = true,
                                .keys = true,
                                .max = 1,
                                .quota = l->quota};
    if (!alone)
        choose_page(l, key, l->page);
    int r = history_page(cx, l->page);
    l->read += l->page->looked;
    l->brief = l->status_only;
    for (size_t i = 0; l->brief && i < l->page->n; i++)
        job_view_fini(&l->page->views[i]); /* specs: the page lives long */
    return r < 0 ? r : view_of_page(l->page, key, ret);
}

/* Reads a page with the job or element, and copies its view. -ENOENT: the store lacks it;
 * -errno of reading. Where another job of the page was purged meanwhile, or is damaged,
 * it is read alone. */
static int read_near(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                     struct job_view *ret)
{
    int r = read_page(cx, l, key, false, ret);

    if (r < 0 && r != -ENOMEM && l->page->first != l->page->last)
        r = read_page(cx, l, key, true, ret);
    return r;
}

static int look(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                struct job_view *ret)
{
    bool deeper;
    int r = get(l->core, &l->asker, key->id, key->index, l->status_only, ret, &deeper);

    l->read = 0;
    if (!deeper || !l->kept)
        return r;
    if (l->brief && !l->status_only)
        query_looks_fini(l);
    r = view_of_page(l->page, key, ret);
    if (r < 0)
        r = read_near(cx, l, key, ret);
    l->id = key->id;
    l->index = key->index;
    return r;
}

int query_looks_next(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                     struct job_view *ret)
{
    const int r = look(cx, l, key, ret);

    quota_charge(l->quota, 1, r < 0 ? 0 : ret->unpacked, 0);
    return r;
}

void query_looks_fini(struct query_looks *l)
{
    if (!l->page)
        return;
    history_fini(l->page);
    free(l->page);
    l->page = NULL;
}

/* --- output ------------------------------------------------------------------------- */

static bool prints_there(const struct job_view *v, enum job_stream stream)
{
    const struct job_spec *spec = v->spec;

    return spec && v->status.attempt > 0 && job_kinds[spec->kind].is_process &&
           spec->output == JOB_OUTPUT_FILE &&
           (stream == JOB_STDOUT || spec->output_split);
}

/* Returns whether the job printed nothing: no file and no row. An orphan's missing file
 * was empty when it was released. */
static bool printed_nothing(const struct job_view *v, enum job_stream stream)
{
    if (v->status.state != JOB_DONE)
        return false;
    if (v->orphan)
        return stream == JOB_STDOUT;
    return !(v->status.kept & JOB_KEPT_FILE(stream)) && prints_there(v, stream);
}

/* Returns whether the file should exist: neither file nor row was found. */
static bool was_removed(const struct job_view *v, enum job_stream stream)
{
    const enum job_state state = (enum job_state)v->status.state;

    if (state == JOB_DONE)
        return v->status.kept & JOB_KEPT_FILE(stream);
    return !v->orphan && v->status.pid > 0 && prints_there(v, stream) &&
           JOB_BUSY_STATES & 1u << state;
}

/* Returns whether the output can be neither in a file nor in the store. Orphans may have
 * both. */
static bool is_elsewhere(const struct job_view *v, enum job_stream stream)
{
    return v->spec && !v->orphan && !prints_there(v, stream);
}

struct opening {
    struct core *core;
    const struct job_view *v;
    enum job_stream stream;
    int r;
};

/* Opens the output. Waits for the disk: names not in memory, renames, the store. */
static void open_there(void *arg)
{
    struct opening *o = arg;
    const struct job_view *v = o->v;
    struct core *core = o->core;

    o->r = output_open(parts_of(core)->outputs, parts_of(core)->store, &v->key, o->stream,
                       v->status.state == JOB_DONE);
    /* Output is purged with its job: while the job is there, so is the output. */
    if (o->r == -ENODATA && v->status.kept & JOB_KEPT_STORE(o->stream) &&
        store_has(parts_of(core)->store, v->key.id) > 0)
        o->r = -EBADMSG;
}

static int open_aside(struct volt_cx *cx, struct core *core, const struct job_view *v,
                      enum job_stream stream)
{
    struct opening o = {.core = core, .v = v, .stream = stream, .r = -ENODATA};

    if (v->has_counts)
        return -EISDIR;
    if (is_elsewhere(v, stream))
        return -ENODATA;
    if (cx)
        volt_block_in_place(cx, open_there, &o);
    else
        open_there(&o);
    return o.r;
}

int query_open_output(struct volt_cx *cx, struct core *core, const struct asker *asker,
                      uint64_t id, int64_t index, enum job_stream stream)
{
    bool ended = false;
    int r;

    for (;;) {
        struct job_view v;
        bool before = ended;

        r = query_look(cx, core, asker, id, index, &v);
        if (r < 0)
            return r;
        if (v.forgotten)
            return -EIDRM; /* such a view owns nothing */
        ended = v.status.state == JOB_DONE;
        r = open_aside(cx, core, &v, stream);
        bool nothing = r == -ENODATA && printed_nothing(&v, stream);
        bool removed = r == -ENODATA && was_removed(&v, stream);
        bool running = !ended && v.status.state != JOB_QUEUED;
        job_view_fini(&v);
        if (nothing)
            return output_open_empty();
        /* The job may have ended since, and moved its output. */
        if (r != -ENODATA || !running || before)
            return removed ? -ESTALE : r;
        ended = true;
    }
}

char *query_output_path(struct core *core, const struct job_key *key,
                        enum job_stream stream)
{
    return output_path_text(parts_of(core)->outputs, key, stream);
}

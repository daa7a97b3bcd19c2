/* See expand.h. */
#include "daemon/query/expand.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/auth/auth.h"
#include "daemon/core/parts.h"
#include "daemon/query/history.h"
#include "daemon/query/view.h"
#include "daemon/core/table.h"

#define SUCCESS (1u << JOB_RESULT_SUCCESS)

/* --- which arrays ------------------------------------------------------------------- */

bool expand_may_find(const struct job_view *array, const struct job_filter *f)
{
    const uint32_t states = f->states ? f->states : UINT32_MAX;
    const uint32_t results = f->results ? f->results : UINT32_MAX;
    const uint64_t others = array->failed + array->cancelled;

    if (states & 1u << JOB_DONE && ((results & SUCCESS && array->done > others) ||
                                    (results & ~SUCCESS && others > 0)))
        return true;
    return !f->results && ((states & 1u << JOB_QUEUED && array->queued > 0) ||
                           (states & JOB_BUSY_STATES && array->running > 0));
}

/* An array with an element in some state is in that state too, or running, or
 * stopping. */
struct job_filter expand_jobs(const struct job_filter *f)
{
    struct job_filter jobs = *f;

    if (jobs.states & ((1u << JOB_STATE_COUNT) - 1))
        jobs.states |= 1u << JOB_RUNNING | 1u << JOB_STOPPING;
    jobs.results = 0;
    return jobs;
}

/* --- places in an array ------------------------------------------------------------- */

static int direction(const struct expansion *e)
{
    return e->f->newest_first ? -1 : 1;
}

/* Returns the offset to look at next; out of range: none is left. */
static int64_t next_offset(const struct expansion *e, const struct job_spec *spec)
{
    if (!e->within)
        return e->f->newest_first ? (int64_t)job_spec_count(spec) - 1 : 0;
    int64_t offset = job_spec_offset(spec, e->index);
    return offset < 0 ? -1 : offset + direction(e);
}

/* Notes that everything up to the offset `last` has been looked at. */
static void note_place(struct expansion *e, const struct job_spec *spec, int64_t last)
{
    e->within = true;
    e->index = job_spec_index(spec, last);
    last += direction(e);
    e->end = last < 0 || (uint64_t)last >= job_spec_count(spec);
}

/* --- memory ------------------------------------------------------------------------- */

/* Returns the farthest offset of the same chunk in this direction. */
static int64_t edge(const struct expansion *e, const struct array *a, int64_t at)
{
    const int64_t begin = at - at % ARRAY_CHUNK, end = begin + ARRAY_CHUNK - 1;

    if (e->f->newest_first)
        return begin;
    return (uint64_t)end < a->total ? end : (int64_t)a->total - 1;
}

static void look_at(struct expansion *e, struct job *job)
{
    const struct array *a = job->array;
    const int64_t total = (int64_t)a->total;
    int64_t at = next_offset(e, job->spec), last = -1;
    size_t shown = 0;

    e->end = at < 0 || at >= total;
    while (at >= 0 && at < total && (last < 0 || quota_entries_left(e->quota)) &&
           e->n < e->most && (!e->bytes || shown < e->bytes)) {
        last = at;
        core_did(e->core, 1, 0, 0);
        if (jobs_view_element(e->core, job, at, e->f, &e->views[e->n])) {
            e->n++;
            shown += job->bytes;
        } else if (!a->chunks[at / ARRAY_CHUNK]) {
            last = edge(e, a, at); /* the whole chunk is in the same state */
        }
        at = last + direction(e);
    }
    if (last >= 0)
        note_place(e, job->spec, last);
}

/* Looks at elements in memory. False: memory has no elements of this array. */
static bool in_memory(struct expansion *e)
{
    core_lock(e->core);
    core_charge(e->core, e->quota);
    struct job *job = table_get(parts_of(e->core)->table, e->id);
    bool there = job && auth_sees(&e->asker, job->owner.uid) && job->array &&
                 !array_is_counts(job->array);
    if (there)
        look_at(e, job);
    core_unlock(e->core);
    return there;
}

/* --- the store ---------------------------------------------------------------------- */

static int read_elements(struct expansion *e, int64_t first, int64_t last,
                         struct history **ret)
{
    struct history *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    *h = (struct history){.core = e->core,
                          .asker = e->asker,
                          .first = e->id,
                          .last = e->id,
                          .max = 1,
                          .quota = e->quota,
                          .index = first,
                          .index_last = last};
    int r = history_page(e->cx, h);
    if (r < 0) {
        free(h);
        return r;
    }
    e->kept_looked += h->looked;
    *ret = h;
    return 0;
}

/* Reads the spec with the element at the cursor. *ret: a new reference; NULL: the array
 * was purged. */
static int read_spec(struct expansion *e, struct job_spec **ret)
{
    struct history *h;
    int r = read_elements(e, e->index, e->index, &h);

    if (r < 0)
        return r;
    *ret = h->n ? job_spec_ref(h->views[0].spec) : NULL;
    history_fini(h);
    free(h);
    return 0;
}

/* Takes the wanted views of a page, in the order asked for. */
static void take_views(struct expansion *e, struct history *h)
{
    for (size_t i = 0; i < h->n; i++) {
        struct job_view *v = &h->views[e->f->newest_first ? h->n - 1 - i : i];

        if (job_filter_wants_status(&v->status, e->f))
            e->views[e->n++] = *v;
        else
            job_view_fini(v);
    }
    free(h);
}

/* Returns how many elements may be read from the store. */
static size_t reads(const struct expansion *e)
{
    const size_t n = 1 + quota_entries_left(e->quota) / (QUERY_KEPT_COST + 1);

    return n < e->most ? n : e->most;
}

static int read_from(struct expansion *e, const struct job_spec *spec)
{
    const int64_t total = (int64_t)job_spec_count(spec), from = next_offset(e, spec);
    const size_t most = reads(e);
    int64_t to = from + direction(e) * ((int64_t)most - 1);
    struct history *h;

    e->end = from < 0 || from >= total;
    if (e->end)
        return 0;
    to = to < 0 ? 0 : to < total ? to : total - 1;
    int r = read_elements(e, job_spec_index(spec, from < to ? from : to),
                          job_spec_index(spec, from < to ? to : from), &h);
    if (r < 0)
        return r;
    note_place(e, spec, to);
    e->end |= h->n == 0; /* the array was purged */
    take_views(e, h);
    return 0;
}

static int in_store(struct expansion *e)
{
    struct job_spec *spec = e->spec ? job_spec_ref(e->spec) : NULL;
    int r = 0;

    e->end = true;
    if (!e->kept)
        r = -ENOENT;
    else if (!spec && e->within)
        r = read_spec(e, &spec);
    if (r == 0 && spec && spec->is_array)
        r = read_from(e, spec);
    job_spec_unref(spec);
    return r == -ENOENT ? 0 : r;
}

int expand_portion(struct expansion *e)
{
    return in_memory(e) ? 0 : in_store(e);
}

/* Lists of jobs.
 *
 * A list walks through the table by id, or through the candidates of the index
 * (candidates.h), a slice per turn of the lock. Between the jobs of a slice it walks
 * through the ended jobs of the store with ids of the same range. Memory comes first:
 * jobs that left memory before the slice are in the store by then.
 *
 * A list with time limits ends early, as ids are in the order of submission times. Clock
 * steps and simultaneous submissions break this order a little: the list ends after
 * STRAYS in a row that are more than STRAY_USEC beyond the limit.
 *
 * With elements, wanted elements (expand.h) take the place of their array. They may use
 * half of the portion's entries. If that is too little, the portion ends within the array
 * or before the next job, and the slice's remaining jobs are looked at again. */
#include <stdlib.h>
#include <errno.h>
#include <unistd.h>

#include "daemon/auth/auth.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/query/candidates.h"
#include "daemon/query/expand.h"
#include "daemon/query/history.h"
#include "daemon/query/view.h"

#define HISTORY_LOOKS 16384 /* jobs of the store looked at per answer */
#define ROWS_LOOKS    24    /* entries of a portion with elements, at least */
#define STRAYS        256
#define STRAY_USEC    UINT64_C(3600000000)

struct listing {
    struct core *core;
    struct asker asker;
    struct volt_cx *cx;
    bool kept;      /* also read the store */
    bool past_keys; /* also purged jobs whose key is left */
    const struct job_filter *f;
    const struct job_filter *rows; /* with elements: the filter for them */
    struct quota *quota;           /* charged with the portion */
    size_t looks;                  /* entries that a slice may look at in memory */
    size_t bytes;                  /* of specs that it may unpack, plus one spec */
    size_t at_once;                /* jobs of memory that a slice may pass to fn */
    size_t page;                   /* jobs of the store that it may read */
    size_t kept_looked;            /* entries of the store looked at */
    uint64_t at;                   /* id of the last entry looked at */
    enum query_specs specs;
    bool shows;                 /* specs count as shown */
    size_t at_key;              /* keys looked at */
    const struct job_key *keys; /* of the filter, in order; NULL: no keys */
    bool end;
    bool stop;            /* the answer is long enough, though there is more */
    bool past;            /* the rest is beyond the time limits */
    unsigned strays;      /* in a row, in the current walk */
    unsigned kept_strays; /* likewise in the walk through the store */

    int (*fn)(void *arg, const struct job_view *v); /* receives the jobs */
    void *arg;
    size_t limit; /* calls of fn left */
    int result;   /* not 0: from fn or the store */

    /* With elements: */
    size_t room;                  /* jobs that it may still pass to fn */
    bool full;                    /* the portion ends here */
    bool within;                  /* in the array at the cursor ... */
    int64_t index;                /* ... behind this element */
    size_t key_after[JOBS_SLICE]; /* for each of a slice of keys: at_key behind it */
    size_t told_key;              /* key_after of the latest job passed to fn */
};

/* Notes the time of each job of a walk. True: the walk may end. */
static bool is_past(struct listing *l, uint64_t submitted_usec)
{
    const struct job_filter *f = l->f;
    bool stray = f->newest_first
                     ? submitted_usec + STRAY_USEC < f->since_usec
                     : f->until_usec && submitted_usec > f->until_usec + STRAY_USEC;

    l->strays = stray ? l->strays + 1 : 0;
    if (l->strays < STRAYS)
        return false;
    return l->past = true;
}

/* Lock held. Returns the next id behind l->at; 0: none. *ret_job NULL: no such job, or no
 * steps are left. */
static uint64_t next_entry(const struct listing *l, struct candidates *c, size_t *steps,
                           struct job **ret_job)
{
    const struct table *t = parts_of(l->core)->table;

    if (!c)
        return l->f->newest_first ? table_prev(t, l->at, steps, ret_job)
                                  : table_next(t, l->at, steps, ret_job);
    uint64_t id = candidates_next(c);
    *ret_job = table_get(t, id);
    return id;
}

/* Lock held. Fills views with matches behind l->at until l->looks entries were looked at,
 * l->bytes unpacked, or max reached. Returns their number. */
static size_t slice_of_table(struct listing *l, struct job_view *views, size_t max)
{
    size_t steps = l->looks, n = 0, shown = 0;
    struct candidates candidates;
    struct candidates *c = candidates_begin(&candidates, l->core, &l->asker, l->f, l->at)
                               ? &candidates
                               : NULL;

    while (n < max && steps > 0 && parts_of(l->core)->held->bytes < l->bytes &&
           shown < l->bytes) {
        struct job *job;
        uint64_t id = next_entry(l, c, &steps, &job);

        if (!id) {
            l->end = true;
            break;
        }
        l->at = id;
        steps -= steps > 0; /* places without a job were counted there */
        if (!job)
            continue;
        if (is_past(l, job->status.submitted_usec))
            break;
        if (auth_sees(&l->asker, job->owner.uid) &&
            jobs_view_wanted(l->core, job, l->f, l->specs, &views[n])) {
            shown += l->shows ? job->bytes : 0;
            n++;
        }
    }
    core_did(l->core, l->looks - steps, 0, 0);
    return n;
}

static const struct job_key *key_at(const struct listing *l, size_t at)
{
    return &l->keys[l->f->newest_first ? l->f->nkeys - 1 - at : at];
}

/* Fills views from keys, without the lock: the store may be read. Elements read in one
 * page are passed on before others are read. */
static size_t slice_of_keys(struct listing *l, struct job_view *views, size_t max)
{
    struct query_looks looks = {
        .core = l->core, .asker = l->asker, .kept = l->kept, .quota = l->quota};
    const struct quota before = *l->quota;
    size_t n = 0, spent;

    if (l->at_key > 0) {
        looks.id = key_at(l, l->at_key - 1)->id;
        looks.index = key_at(l, l->at_key - 1)->index;
    }
    while (n < max && l->quota->bytes - before.bytes < l->bytes &&
           l->at_key < l->f->nkeys &&
           (spent = l->quota->entries - before.entries) < l->looks) {
        struct job_filter f = *l->f;

        /* Each element costs a read and a look. */
        looks.most = 1 + (l->looks - spent) / (QUERY_KEPT_COST + 1);
        int r = query_looks_next(l->cx, &looks, key_at(l, l->at_key), &views[n]);
        l->at_key++;
        l->kept_looked += looks.read;
        if (r < 0 && r != -ENOENT)
            l->result = r;
        if (r < 0)
            continue;
        f.orphans = views[n].orphan; /* an orphan that is named is wanted */
        quota_charge(l->quota, 0, job_filter_cost(views[n].spec, &f), 0);
        l->key_after[n] = l->at_key;
        if (job_filter_wants_view(&views[n], &f))
            n++;
        else
            job_view_fini(&views[n]);
    }
    query_looks_fini(&looks);
    l->end = l->at_key == l->f->nkeys;
    return n;
}

/* Returns whether the key, or the key of its array, is in the filter. */
static bool has_key(const struct listing *l, const struct job_key *key)
{
    const struct job_key wanted[] = {*key, {.id = key->id, .index = JOB_NO_INDEX}};

    if (!l->keys)
        return true;
    for (size_t i = 0; i < 2; i++)
        if (bsearch(&wanted[i], l->keys, l->f->nkeys, sizeof(*l->keys), job_key_compare))
            return true;
    return false;
}

/* Fills views from orphans. The cursor is their place in a constant order: many may share
 * an id. */
static size_t slice_of_orphans(struct listing *l, struct job_view *views, size_t max)
{
    const size_t all = auth_sees(&l->asker, getuid()) ? parts_of(l->core)->orphans->n : 0;
    size_t n = 0, i = l->at == UINT64_MAX ? 0 : l->at;

    for (size_t steps = l->looks; i < all && n < max && steps > 0; i++, steps--) {
        const struct orphan *o =
            &parts_of(l->core)->orphans->all[l->f->newest_first ? all - 1 - i : i];

        jobs_view_orphan(o, &views[n]);
        if (has_key(l, &o->key) && job_filter_wants_view(&views[n], l->f))
            n++;
        core_did(l->core, 1, 0, 0);
    }
    l->at = i;
    l->end = i >= all;
    return n;
}

static size_t next_slice(struct listing *l, struct job_view *views, size_t max)
{
    size_t n;

    if (l->keys && !l->f->orphans)
        return slice_of_keys(l, views, max);
    core_lock(l->core);
    core_charge(l->core, l->quota);
    n = l->f->orphans ? slice_of_orphans(l, views, max) : slice_of_table(l, views, max);
    core_unlock(l->core);
    return n;
}

/* --- both together ------------------------------------------------------------------ */

static bool is_over(const struct listing *l)
{
    return l->result || !l->limit || l->full;
}

static void pass(struct listing *l, const struct job_view *v)
{
    if (is_over(l))
        return;
    l->result = l->fn(l->arg, v);
    l->limit--;
    l->room -= l->room > 0;
}

static size_t at_least_one(size_t n)
{
    return n ? n : 1;
}

/* Passes on a portion of an array's elements: from the beginning, or from l->index on. */
static void tell_elements(struct listing *l, uint64_t id, struct job_spec *spec)
{
    struct expansion *e = calloc(1, sizeof(*e));

    if (!e) {
        l->result = -ENOMEM;
        return;
    }
    e->core = l->core;
    e->asker = l->asker;
    e->cx = l->cx;
    e->kept = l->kept;
    e->f = l->rows;
    e->id = id;
    e->spec = spec;
    e->within = l->within;
    e->index = l->index;
    e->quota = l->quota;
    e->most = at_least_one(l->room < l->limit ? l->room : l->limit);
    e->bytes = l->shows ? at_least_one(l->bytes) : 0;
    l->result = expand_portion(e);
    for (size_t i = 0; i < e->n; i++) {
        pass(l, &e->views[i]);
        job_view_fini(&e->views[i]);
    }
    l->kept_looked += e->kept_looked;
    l->within = !e->end;
    l->index = e->index;
    l->full |= l->within;
    free(e);
}

/* Returns whether the array of the element is a key too: the element comes with it. */
static bool is_told_with_array(const struct listing *l, const struct job_key *key)
{
    const struct job_key array = {.id = key->id, .index = JOB_NO_INDEX};

    return l->keys && key->index >= 0 &&
           bsearch(&array, l->keys, l->f->nkeys, sizeof(*l->keys), job_key_compare);
}

static void tell_rows(struct listing *l, const struct job_view *v)
{
    if (v->has_counts && expand_may_find(v, l->rows))
        tell_elements(l, v->key.id, v->spec);
    else if (!v->has_counts && job_filter_wants_status(&v->status, l->rows) &&
             (v->orphan || !is_told_with_array(l, &v->key)))
        pass(l, v);
}

/* Passes v on and finishes it. False: the portion ended before it. */
static bool tell(struct listing *l, struct job_view *v)
{
    const bool over = is_over(l);

    if (!over && l->rows)
        tell_rows(l, v);
    else if (!over)
        pass(l, v);
    if (!over)
        l->at = v->key.id;
    job_view_fini(v);
    if (l->rows && (!l->room || !quota_entries_left(l->quota)))
        l->full = true;
    return !over;
}

/* Returns the next job of the store that the filter wants. NULL: none is left, an error
 * (l->result), or a page was read (!h->end). */
static struct job_view *next_kept(struct listing *l, struct history *h)
{
    while (!l->result) {
        for (; h->at < h->n; h->at++) {
            h->end |= is_past(l, h->views[h->at].status.submitted_usec);
            if (h->wanted[h->at])
                return &h->views[h->at];
            job_view_fini(&h->views[h->at]);
        }
        if (h->end || h->looked)
            return NULL;
        l->result = history_page(l->cx, h);
        l->kept_looked += h->looked;
    }
    return NULL;
}

static bool precedes(const struct listing *l, uint64_t a, uint64_t b)
{
    return l->f->newest_first ? a > b : a < b;
}

/* Passes on the n jobs of a slice and, in order between them, jobs of the store. Memory
 * is newer where both have a job. */
static void merge(struct listing *l, struct history *h, struct job_view *views, size_t n)
{
    const uint64_t slice_end = l->at;
    struct job_view *kept;
    size_t i = 0;

    do {
        kept = next_kept(l, h);
        /* The store has been looked at up to here. */
        uint64_t upto = kept ? kept->key.id : h->newest_first ? h->last : h->first;
        while (i < n && ((!kept && h->end) || precedes(l, views[i].key.id, upto)))
            tell(l, &views[i++]);
        if (!kept)
            break;
        h->at++;
        if (i < n && views[i].key.id == kept->key.id)
            job_view_fini(kept);
        else
            tell(l, kept);
    } while (!is_over(l));
    while (i < n)
        job_view_fini(&views[i++]);
    if (is_over(l))
        l->end = false;
    else if (h->end)
        l->at = slice_end;
    else
        l->at = h->newest_first ? h->last + 1 : h->first - 1;
    l->stop = !h->end;
    l->end &= h->end;
}

/* Begins the walk through the store over ids from `from` to the end of the slice. Returns
 * new; NULL: nothing to find, or no memory (l->result). */
static struct history *begin_history(struct listing *l, uint64_t from)
{
    const bool down = l->f->newest_first;
    const uint64_t max = l->kept && !l->f->orphans ? history_max(l->core) : 0;
    uint64_t first = !down ? from + 1 : l->end ? 1 : l->at;
    uint64_t last = down ? from - 1 : l->end ? UINT64_MAX : l->at;

    last = last < max ? last : max;
    if (first > last || (l->f->states && !(l->f->states & 1u << JOB_DONE)))
        return NULL;
    struct history *h = calloc(1, sizeof(*h));
    if (!h) {
        l->result = -ENOMEM;
        return NULL;
    }
    const bool all = auth_sees_all(&l->asker);
    *h = (struct history){.core = l->core,
                          .asker = l->asker,
                          .first = first,
                          .last = last,
                          .newest_first = down,
                          .keys = l->past_keys && down,
                          .f = l->f,
                          .of_owner = l->f->of_user || !all,
                          .owner = all ? l->f->uid : l->asker.who.uid,
                          .max = l->page,
                          .quota = l->quota,
                          .index = JOB_NO_INDEX,
                          .index_last = JOB_NO_INDEX};
    return h;
}

static void list_slice(struct listing *l)
{
    struct job_view views[JOBS_SLICE];
    const uint64_t from = l->at;

    l->strays = 0;
    size_t n = next_slice(l, views, l->limit < l->at_once ? l->limit : l->at_once);
    const uint64_t slice_end = l->at;
    bool all = true;

    l->strays = l->kept_strays; /* the store is a walk of its own */
    struct history *h = l->keys ? NULL : begin_history(l, from);

    if (h) {
        merge(l, h, views, n);
        if (!l->full) /* otherwise they are looked at again */
            l->kept_strays = l->strays;
        history_fini(h);
        free(h);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (tell(l, &views[i]))
            l->told_key = l->key_after[i];
        else
            all = false;
    if (all && !l->within) {
        l->at = slice_end;
        return;
    }
    l->at_key = l->told_key;
    l->end = false;
}

/* Goes on in the array that the cursor has passed. */
static void go_on_within(struct listing *l)
{
    uint64_t id = l->at;

    l->end = false;
    if (l->keys)
        id = l->at_key > 0 ? key_at(l, l->at_key - 1)->id : 0;
    tell_elements(l, id, NULL);
}

static void begin_list(struct listing *l, uint64_t cursor)
{
    l->at = cursor;
    l->keys = l->f->keys;
    l->at_key = cursor < l->f->nkeys ? (size_t)cursor : l->f->nkeys;
    if (l->f->newest_first && !cursor)
        l->at = UINT64_MAX;
}

static int end_list(struct listing *l, uint64_t *ret_cursor)
{
    l->end |= l->past && !is_over(l) && !l->stop;
    *ret_cursor = l->end ? 0 : l->keys && !l->f->orphans ? l->at_key : l->at;
    return l->result;
}

/* Returns whether jobs of the store may follow. */
static bool may_be_kept(const struct listing *l)
{
    if (!l->kept || l->keys || l->f->orphans)
        return false;
    uint64_t max = history_max(l->core);
    return l->f->newest_first ? max > 0 : l->at < max;
}

/* Gives half of the looks to memory, half to the store, whose pages are passed on
 * whole. */
static void divide_looks(struct listing *l)
{
    size_t page = 1 + l->looks / 2 / QUERY_KEPT_COST;

    l->looks = 1 + l->looks / 2;
    l->page = page < l->at_once ? page : l->at_once;
}

int query_walk_step(struct volt_cx *cx, struct core *core, const struct asker *asker,
                    const struct job_filter *f, struct query_walk *w,
                    int (*fn)(void *arg, const struct job_view *v), void *arg)
{
    struct quota own = {0};
    struct quota *quota = w->quota ? w->quota : &own;
    const size_t left = quota_entries_left(quota);
    struct listing l = {.core = core,
                        .asker = *asker,
                        .cx = cx,
                        .kept = w->kept,
                        .past_keys = w->keys,
                        .f = f,
                        .quota = quota,
                        .looks = left,
                        .bytes = 1 + quota_bytes_left(quota) / 2,
                        .specs = w->specs,
                        .shows = w->shows,
                        .at_once = w->at_once && w->at_once < JOBS_SLICE ? w->at_once
                                                                         : JOBS_SLICE,
                        .page = JOBS_SLICE,
                        .kept_strays = w->strays,
                        .fn = fn,
                        .arg = arg,
                        .limit = w->limit,
                        .within = w->within,
                        .index = w->index};
    const struct job_filter jobs = expand_jobs(f);
    int r;

    if (f->elements && !f->orphans) {
        if (left < ROWS_LOOKS) {
            quota_charge(quota, left, 0, 0);
            return 0;
        }
        l.f = &jobs;
        l.rows = f;
        l.looks = 1 + left / 2;
        l.room = l.at_once;
        l.specs = w->specs == QUERY_SPECS_NONE ? QUERY_SPECS_BRIEF : w->specs;
    }
    begin_list(&l, w->cursor);
    if (may_be_kept(&l))
        divide_looks(&l);
    if (!is_over(&l) && l.rows && l.within)
        go_on_within(&l);
    else if (!is_over(&l))
        list_slice(&l);
    r = end_list(&l, &w->cursor);
    w->within = l.within;
    w->index = l.index;
    w->limit = l.limit;
    w->strays = l.kept_strays;
    w->kept_sum += l.kept_looked;
    w->end = !w->cursor || !w->limit || w->kept_sum >= HISTORY_LOOKS;
    return r;
}

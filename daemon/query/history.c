/* Jobs that have left memory, read from the store: facts become views by the same
 * job_update() that made the state.
 *
 * Reading blocks on the disk, so volt_block_in_place() does it: the worker's other tasks
 * move to another thread. Core's lock is not held. Jobs still in memory are left out:
 * memory is newer. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/auth/auth.h"
#include "daemon/core/interned.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/observe/log.h"
#include "daemon/query/history.h"
#include "daemon/query/query.h"
#include "daemon/query/view.h"
#include "daemon/store/reader.h"

/* --- facts to views ----------------------------------------------------------------- */

static struct job_view *current(struct history *h)
{
    return h->n ? &h->views[h->n - 1] : NULL;
}

static bool of_elements(const struct history *h)
{
    return h->index >= 0;
}

static void end_array(struct history *h, struct job_view *v)
{
    array_fold_end(&h->fold);
    jobs_view_array(&h->array, v);
}

static void end_elements(struct history *h)
{
    for (size_t i = 0; i < h->n; i++) {
        struct job_status *st = &h->views[i].status;

        *st = st->submitted_usec ? array_ended_as(st) : array_ended_without(&h->array);
    }
}

static void finish_view(struct job_view *v)
{
    v->key.attempt = v->has_counts ? 0 : v->status.attempt;
    if (!v->has_counts)
        v->exit_code = job_exit_code(&v->status);
}

/* Applies edits. All elements share the array's spec. */
static int end_edits(struct history *h)
{
    struct job_spec *edited;

    if (!h->edits.changes)
        return 0;
    int r = job_edits_lay(&h->edits, current(h)->spec, &edited);
    job_edits_fini(&h->edits);
    if (r < 0)
        return r;
    for (size_t i = of_elements(h) ? 0 : h->n - 1; i < h->n; i++) {
        job_spec_unref(h->views[i].spec);
        h->views[i].spec = job_spec_ref(edited);
    }
    job_spec_unref(edited);
    return 0;
}

/* Finishes the views of a job whose facts are all read. */
static int end_job(struct history *h)
{
    struct job_view *v = current(h);

    if (!v || v->forgotten)
        return 0;
    if (v->has_counts)
        end_array(h, v);
    else if (of_elements(h))
        end_elements(h);
    for (size_t i = of_elements(h) ? 0 : h->n - 1; i < h->n; i++)
        finish_view(&h->views[i]);
    return end_edits(h);
}

static struct job_view *add_view(struct history *h, const struct store_loaded_job *job)
{
    struct job_view *v = &h->views[h->n++];

    *v = (struct job_view){.key = {.id = job->id, .index = JOB_NO_INDEX},
                           .owner = {.uid = job->uid, .gid = job->gid},
                           .spec = job_spec_ref(job->spec),
                           .durable = true,
                           .has_counts = job->spec->is_array && !of_elements(h)};
    return v;
}

/* Adds views of the elements that were asked for and exist. */
static void add_elements(struct history *h, const struct store_loaded_job *job)
{
    const int64_t count = job->spec->is_array ? (int64_t)job_spec_count(job->spec) : 0;
    int64_t index;

    for (int64_t o = job_spec_offset_from(job->spec, h->index);
         o < count && h->n < JOBS_SLICE &&
         (index = job_spec_index(job->spec, o)) <= h->index_last;
         o++)
        add_view(h, job)->key.index = index;
}

/* Adds a purged job. A purged array has no elements. */
static int add_gone(struct history *h, const struct store_key *key)
{
    int r = end_job(h);

    if (r < 0 || of_elements(h))
        return r;
    jobs_view_end(key->id, key->uid, key->at_usec, &key->end, &h->views[h->n]);
    h->views[h->n++].key_name = key->name;
    return 0;
}

static int begin_job(struct history *h, const struct store_loaded_job *job)
{
    const struct job_event submit = job_spec_submission(job->spec, job->submitted_usec);
    struct array_effects none;
    const int r = end_job(h);

    if (r < 0)
        return r;
    h->array = (struct array){.total = job_spec_count(job->spec)};
    (void)array_update(&h->array, ARRAY_WHOLE, &submit, &none);
    array_fold_begin(&h->fold, &h->array);
    if (!of_elements(h))
        return job_update(&add_view(h, job)->status, &submit);
    add_elements(h, job);
    return 0;
}

/* Returns the view of the element of the fact. NULL: not asked for. Views are consecutive
 * elements of the array, whose indexes may have gaps. */
static struct job_view *element_view(struct history *h, int64_t index)
{
    const struct job_spec *spec = current(h)->spec;
    int64_t offset = job_spec_offset(spec, index);
    int64_t first = job_spec_offset(spec, h->views[0].key.index);

    return offset >= first && (uint64_t)(offset - first) < h->n
               ? &h->views[offset - first]
               : NULL;
}

static int element_event(struct history *h, struct job_view *v,
                         const struct job_event *ev)
{
    if (!v)
        return 0;
    if (!v->status.submitted_usec)
        array_element_begin(&h->array, &v->status);
    return job_update(&v->status, ev);
}

/* Folds a fact of an array. */
static int array_event(struct history *h, const struct job_key *key,
                       const struct job_event *ev)
{
    if (key->index == JOB_NO_INDEX)
        return array_fold_event(&h->fold, ARRAY_WHOLE, ev);
    if (of_elements(h))
        return element_event(h, element_view(h, key->index), ev);
    return array_fold_event(&h->fold, job_spec_offset(current(h)->spec, key->index), ev);
}

static int fold_event(struct history *h, const struct store_loaded_event *e)
{
    struct job_view *v = current(h);
    struct job_event ev = *e->event;
    int r;

    if (!v)
        return 0; /* no array, or none of its elements was asked for */
    if ((r = interned_event(parts_of(h->core)->interned, &ev)) < 0)
        return r;
    if (ev.type == JOB_EV_EDIT && (r = job_edits_add(&h->edits, &ev.changes)) < 0)
        return r;
    return v->spec->is_array ? array_event(h, &e->key, &ev) : job_update(&v->status, &ev);
}

static int fold(void *arg, const struct store_loaded *loaded)
{
    struct history *h = arg;
    int r = 0;

    switch (loaded->type) {
    case STORE_LOADED_JOB:
        h->id = loaded->job.id;
        r = begin_job(h, &loaded->job);
        break;
    case STORE_LOADED_EVENT:
        r = fold_event(h, &loaded->event);
        break;
    case STORE_LOADED_KEY:
        h->id = loaded->key.id;
        r = add_gone(h, &loaded->key);
        break;
    case STORE_LOADED_RESOURCE: /* not in this range */
    case STORE_LOADED_QUEUE:
        break;
    }
    if (r < 0)
        log_warning("store: job %llu: its events are out of order",
                    (unsigned long long)h->id);
    return r < 0 ? -EBADMSG : 0;
}

uint64_t history_max(struct core *core)
{
    core_lock(core);
    uint64_t id = jobs_forgotten_max(core);
    core_unlock(core);
    return id;
}

/* --- pages -------------------------------------------------------------------------- */

static void read_page(void *arg)
{
    struct history *h = arg;
    struct volt_error err = {{0}};
    struct store_range range = {.first = h->first,
                                .last = h->last,
                                .newest_first = h->newest_first,
                                .keys = h->keys,
                                .of_owner = h->of_owner,
                                .owner = h->owner,
                                .max = h->max,
                                .some_items = of_elements(h),
                                .item = h->index,
                                .item_last = h->index_last};
    uint64_t at = 0;
    int r = store_history(parts_of(h->core)->store, &range, fold, h, &at, &err);

    if (r == -EBADMSG && err.text[0])
        log_warning("%s", err.text);
    if (r == -ESTALE) { /* the latest job was purged */
        while (h->n && current(h)->key.id == at) {
            job_view_fini(current(h));
            h->n--;
        }
        r = 1;
    } else if (r >= 0 && end_job(h) < 0) {
        r = -EBADMSG;
    }
    job_edits_fini(&h->edits);
    for (size_t i = 0; h->f && i < h->n; i++) /* here, without the lock: a pattern may
                                               * take long */
        h->wanted[i] = job_filter_wants_view(&h->views[i], h->f);
    h->result = r;
    h->end = r <= 0 || (h->newest_first ? at <= h->first : at >= h->last);
    if (h->end)
        return;
    if (h->newest_first)
        h->last = at - 1;
    else
        h->first = at + 1;
}

/* Returns whether memory knows more. An array loaded as counts has no elements in
 * memory. */
static bool is_newer_in_memory(const struct history *h, uint64_t id)
{
    const struct job *job = table_get(parts_of(h->core)->table, id);

    return job && !(of_elements(h) && job->array && array_is_counts(job->array));
}

/* Drops jobs that are still in memory, and those the asker may not see. */
static void leave_out(struct history *h)
{
    bool out[JOBS_SLICE];
    size_t kept = 0;

    core_lock(h->core);
    for (size_t i = 0; i < h->n; i++)
        out[i] = is_newer_in_memory(h, h->views[i].key.id) ||
                 !auth_sees(&h->asker, h->views[i].owner.uid);
    core_did(h->core, h->n, 0, 0);
    core_unlock(h->core);
    for (size_t i = 0; i < h->n; i++) {
        if (out[i]) {
            job_view_fini(&h->views[i]);
            continue;
        }
        h->wanted[kept] = h->wanted[i];
        h->views[kept++] = h->views[i];
    }
    h->n = kept;
}

int history_page(struct volt_cx *cx, struct history *h)
{
    h->n = h->at = 0;
    if (h->end)
        return 0;
    if (cx)
        volt_block_in_place(cx, read_page, h);
    else
        read_page(h);
    const size_t rows = of_elements(h) ? h->n : (size_t)(h->result > 0 ? h->result : 0);
    h->looked += rows ? rows : 1;
    quota_charge(h->quota, QUERY_KEPT_COST * (rows ? rows : 1), 0, 0);
    if (!h->at_start)
        leave_out(h);
    if (h->result >= 0)
        return 0;
    history_fini(h);
    h->end = true;
    return h->result;
}

void history_fini(struct history *h)
{
    while (h->at < h->n)
        job_view_fini(&h->views[h->at++]);
    h->n = h->at = 0;
}

/* --- one job ------------------------------------------------------------------------ */

int history_one(struct core *core, const struct job_key *key, struct job_status *ret,
                uid_t *ret_uid)
{
    struct history *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    *h = (struct history){.core = core,
                          .first = key->id,
                          .last = key->id,
                          .max = 1,
                          .index = key->index,
                          .index_last = key->index,
                          .at_start = true};
    int r = history_page(NULL, h);
    if (r == 0 && h->n == 0)
        r = -ENOENT;
    if (r == 0)
        *ret = h->views[0].status;
    if (r == 0 && ret_uid)
        *ret_uid = h->views[0].owner.uid;
    history_fini(h);
    free(h);
    return r;
}

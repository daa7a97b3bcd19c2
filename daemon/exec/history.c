/* Jobs that memory has let go, read again from the store: facts become views by the same
 * job_update() that made the state.
 *
 * Reading blocks on the disk, so it is done by volt_block_in_place(): the worker goes on
 * elsewhere meanwhile. No lock of the manager is held. A job that is in memory still is
 * left out: what is known there is newer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/exec/history.h"
#include "daemon/observe/log.h"

/* --- facts to views ----------------------------------------------------------------- */

static struct job_view *current(struct history *h)
{
    return h->n ? &h->views[h->n - 1] : NULL;
}

/* The status that the latest events made is one of an element of the array. */
static void end_element(struct history *h)
{
    if (h->in_element)
        array_add_ended(&h->array, &h->element, 1);
    h->in_element = false;
}

/* What had not started when the array was cancelled has no events. */
static struct job_status cancelled(const struct history *h, const struct job_view *v)
{
    return (struct job_status){.state = JOB_DONE,
                               .result = JOB_RESULT_CANCELLED,
                               .cancel_asked = true,
                               .submitted_usec = v->status.submitted_usec,
                               .ended_usec = h->array.cancelled_usec};
}

static void end_array(struct history *h, struct job_view *v)
{
    const struct job_status st = cancelled(h, v);

    end_element(h);
    if (h->array.cancelled_usec && !array_done(&h->array))
        array_add_ended(&h->array, &st, h->array.total - h->array.by_state[JOB_DONE]);
    jobs_view_array(&h->array, v);
    v->status.state = JOB_DONE; /* the store says so */
    v->status.result = h->array.worst.result;
}

static void end_view(struct history *h)
{
    struct job_view *v = current(h);

    if (!v)
        return;
    if (v->has_counts) {
        end_array(h, v);
    } else if (h->index >= 0) { /* an element was asked for */
        v->status = h->in_element ? h->element : cancelled(h, v);
        v->key.index = h->index;
        h->in_element = false;
    }
    v->key.attempt = v->has_counts ? 0 : v->status.attempt;
    if (!v->has_counts)
        v->exit_code = job_exit_code(&v->status);
}

static int begin_view(struct history *h, const struct store_fact *fact)
{
    const struct job_spec *spec = fact->spec;
    struct job_view *v;

    end_view(h);
    v = &h->views[h->n++];
    *v = (struct job_view){.key = {.id = fact->key.id, .index = JOB_NO_INDEX},
                           .owner = {.uid = fact->uid, .gid = fact->gid},
                           .spec = job_spec_ref(fact->spec),
                           .durable = true,
                           .has_counts = spec->is_array && h->index < 0};
    h->array = (struct array){.total = job_spec_count(spec),
                              .submitted_usec = fact->event->at_usec};
    h->in_element = false;
    return job_update(&v->status, fact->event);
}

static int apply(struct history *h, struct job_status *st, const struct job_event *event)
{
    struct job_event ev = *event;

    ev.step = manager_keep_step(h->m, ev.step);
    ev.named = manager_keep_named(h->m, ev.named);
    return job_update(st, &ev);
}

static int element_event(struct history *h, struct job_view *v,
                         const struct store_fact *fact)
{
    const struct job_event submit =
        job_spec_submission(v->spec, v->status.submitted_usec);

    if (!h->in_element || h->element_index != fact->key.index) {
        if (v->has_counts)
            end_element(h);
        h->in_element = true;
        h->element_index = fact->key.index;
        h->element = (struct job_status){0};
        (void)job_update(&h->element, &submit);
    }
    return apply(h, &h->element, fact->event);
}

static int fold(void *arg, const struct store_fact *fact)
{
    struct history *h = arg;
    struct job_view *v = current(h);
    int r;

    if (fact->event->type == JOB_EV_SUBMIT) {
        r = begin_view(h, fact);
    } else if (!v->spec->is_array) {
        r = apply(h, &v->status, fact->event);
    } else if (fact->key.index == JOB_NO_INDEX) {
        h->array.cancelled_usec = fact->event->at_usec;
        return 0;
    } else {
        r = element_event(h, v, fact);
    }
    if (r < 0)
        log_warning("store: job %llu: its events are out of order",
                    (unsigned long long)fact->key.id);
    return r < 0 ? -EBADMSG : 0;
}

uint64_t history_max(struct manager *m)
{
    struct aftermath after = {0};

    manager_lock(m);
    uint64_t id = m->forgotten_max;
    manager_unlock(m, &after);
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
                                .max = h->max,
                                .one_item = h->index >= 0,
                                .item = h->index};
    uint64_t at = 0;
    int r = store_history(h->m->store, &range, fold, h, &at, &err);

    if (r == -EBADMSG && err.text[0])
        log_warning("%s", err.text);
    if (r == -ESTALE) { /* the latest one has gone */
        struct job_view *v = current(h);

        if (v && v->key.id == at) {
            job_view_fini(v);
            h->n--;
        }
        r = 1;
    } else if (r >= 0) {
        end_view(h);
    }
    h->result = r;
    h->looked += r > 0 ? (size_t)r : 0;
    h->end = r <= 0 || (h->newest_first ? at <= h->first : at >= h->last);
    if (h->end)
        return;
    if (h->newest_first)
        h->last = at - 1;
    else
        h->first = at + 1;
}

/* Drops jobs that are still in memory (newer there) and those of other users. */
static void leave_out(struct history *h)
{
    struct aftermath after = {0};
    bool out[JOBS_SLICE];
    size_t kept = 0;

    manager_lock(h->m);
    for (size_t i = 0; i < h->n; i++)
        out[i] = table_get(&h->m->table, h->views[i].key.id) ||
                 !jobs_visible(h->uid, h->views[i].owner.uid);
    manager_did(h->m, h->n, 0, 0);
    manager_unlock(h->m, &after);
    for (size_t i = 0; i < h->n; i++) {
        if (out[i])
            job_view_fini(&h->views[i]);
        else
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

static bool has_element(const struct job_view *v, int64_t index)
{
    return v->spec->is_array && (uint64_t)index >= v->spec->array_first &&
           (uint64_t)index <= v->spec->array_last;
}

int history_get(struct volt_cx *cx, struct manager *m, uid_t uid, uint64_t id,
                int64_t index, struct job_view *ret)
{
    struct history *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return -ENOMEM;
    *h = (struct history){
        .m = m, .uid = uid, .first = id, .last = id, .max = 1, .index = index};
    r = history_page(cx, h);
    if (r == 0 && (h->n == 0 || (index >= 0 && !has_element(&h->views[0], index))))
        r = -ENOENT;
    if (r == 0)
        *ret = h->views[h->at++];
    history_fini(h);
    free(h);
    return r;
}

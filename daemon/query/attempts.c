/* See attempts.h. Facts are folded by job_update(), which also made the state. */
#include "daemon/query/attempts.h"

#include <errno.h>
#include <stdlib.h>
#include <volt/task.h>

#include "daemon/core/parts.h"
#include "daemon/store/reader.h"

struct reading {
    struct core *core;
    const struct job_view *view;
    struct attempts *to;
    struct job_status status; /* after the latest fact */
    int r;
};

static int add(struct attempts *a, const struct attempt_view *one)
{
    struct attempt_view *grown;

    if ((a->n & (a->n + 1)) == 0) { /* n is 2^k - 1: the array is full */
        grown = reallocarray(a->all, 2 * (a->n + 1), sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        a->all = grown;
    }
    a->all[a->n++] = *one;
    return 0;
}

static int fold_event(struct reading *r, const struct job_event *ev)
{
    const uint64_t started = r->status.started_usec;

    if (job_update(&r->status, ev) < 0)
        return -EBADMSG;
    if (ev->type != JOB_EV_EXITED || r->status.state != JOB_QUEUED)
        return 0;
    return add(r->to, &(struct attempt_view){
                          .number = r->status.attempt,
                          .end = job_end_notified(ev, &r->status),
                          .started_usec = started,
                          .ended_usec = ev->at_usec,
                          .has_printed = ev->again,
                          .printed = {ev->printed[JOB_STDOUT], ev->printed[JOB_STDERR]}});
}

/* Folds one loaded fact. An element has the policy of its array, but none of its
 * events. */
static int fold(void *arg, const struct store_loaded *loaded)
{
    struct reading *r = arg;

    switch (loaded->type) {
    case STORE_LOADED_JOB: {
        const struct job_event submit =
            job_spec_submission(loaded->job.spec, loaded->job.submitted_usec);
        r->status = (struct job_status){0};
        (void)job_update(&r->status, &submit); /* a fresh state accepts a submission */
        if (r->view->key.index >= 0)
            r->status.held = JOB_HELD_NO;
        return 0;
    }
    case STORE_LOADED_EVENT:
        return loaded->event.key.index == r->view->key.index
                   ? fold_event(r, loaded->event.event)
                   : 0;
    case STORE_LOADED_KEY:      /* the job is purged */
    case STORE_LOADED_RESOURCE: /* not in this range */
    case STORE_LOADED_QUEUE:
        break;
    }
    return 0;
}

static void read_store(void *arg)
{
    struct reading *r = arg;
    const struct job_key *key = &r->view->key;
    const struct store_range one = {.first = key->id,
                                    .last = key->id,
                                    .max = 1,
                                    .one = true,
                                    .some_items = key->index >= 0,
                                    .item = key->index,
                                    .item_last = key->index};
    struct volt_error err;
    uint64_t at;

    r->r = store_history(parts_of(r->core)->store, &one, fold, r, &at, &err);
}

/* Adds the latest attempt: it runs, or was the last one. */
static int add_latest(const struct job_view *v, struct attempts *to)
{
    const struct job_status *st = &v->status;
    const uint32_t told = to->n ? to->all[to->n - 1].number : 0;

    if (st->attempt <= told || st->state == JOB_QUEUED)
        return 0;
    return add(to, &(struct attempt_view){.number = st->attempt,
                                          .end = job_end_of(st),
                                          .started_usec = st->started_usec,
                                          .ended_usec = st->ended_usec});
}

int query_attempts(struct volt_cx *cx, struct core *core, const struct job_view *v,
                   struct attempts *ret)
{
    struct reading r = {.core = core, .view = v, .to = ret};

    *ret = (struct attempts){0};
    if (v->status.attempt > 1 || v->status.last)
        volt_block_in_place(cx, read_store, &r);
    if (r.r >= 0)
        r.r = add_latest(v, ret);
    if (r.r < 0)
        query_attempts_fini(ret);
    return r.r;
}

void query_attempts_fini(struct attempts *a)
{
    free(a->all);
    *a = (struct attempts){0};
}

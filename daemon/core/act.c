/* See act.h. */
#include "daemon/core/act.h"

#include <errno.h>

#include "daemon/core/state.h"

static bool needs_task(const struct job *job, int64_t item)
{
    const bool whole = job->array && item == NO_OFFSET;
    const struct job_status *st = whole ? NULL : jobs_status(job, item);

    if (st && jobs_left(job, st))
        return !job->is_history;
    if (item != NO_OFFSET)
        return st->state != JOB_DONE;
    if (job->array)
        return job->array->rest && !jobs_takes(job);
    return job->status.state != JOB_DONE && !job_waits_bare(job);
}

/* Adopts what an earlier voltd began, or an element that backs off. */
static void adopt(struct core *core, struct work *w)
{
    const struct job_status *st = jobs_status(w->job, w->offset);

    w->adopted = st->state != JOB_QUEUED;
    w->kept_starting = true;
    w->kept_started = st->started_usec != 0;
    core->kinds->adopt(core, w);
}

static int attach(struct tx *tx, struct job *job, int64_t item)
{
    struct core *core = tx->core;

    if (job_awaken(job) < 0 ||
        (item != NO_OFFSET && elements_reserve(job->elements, item) < 0))
        return -ENOMEM;
    struct work *w = work_new(core, job, item);
    if (!w)
        return -ENOMEM;
    job->tasks++;
    if (item == NO_OFFSET)
        job->live = w;
    else
        elements_set(job->elements, item, w);
    tx->spawn[tx->nspawn++] = w;
    if (item != NO_OFFSET || (!job->array && job->status.state != JOB_QUEUED))
        adopt(core, w);
    return 0;
}

int job_act(struct tx *tx, struct job *job, int64_t item)
{
    struct work *w;

    if (job->retired)
        return 0;
    waiting_update(tx->core, job);
    w = jobs_live(job, item);
    if (!w && needs_task(job, item))
        return attach(tx, job, item);
    jobs_wake(w ? w : job->live, tx);
    if (!job->tasks)
        job_retire(tx, job); /* does nothing unless the job has ended */
    return 0;
}

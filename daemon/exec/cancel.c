/* See cancel.h. */
#include "daemon/exec/cancel.h"

#include <errno.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"

static int cancel_array(struct tx *tx, struct job *job)
{
    const struct job_event ev = {.type = JOB_EV_CANCEL, .at_usec = jobs_now_usec()};

    if (jobs_done(job))
        return -EALREADY;
    if (job->array->cancelled_usec)
        return 0;
    int r = core_post(tx, job, NO_OFFSET, &ev);
    if (r < 0)
        return r;
    queue_remove(&tx->m->queue, &job->node);
    jobs_wake(job->live, tx);
    return 0;
}

int core_cancel(struct tx *tx, struct job *job, int64_t item)
{
    const struct job_event ev = {.type = JOB_EV_CANCEL, .at_usec = jobs_now_usec()};

    if (job->array && item == NO_OFFSET)
        return cancel_array(tx, job);

    const struct job_status st = jobs_any_status(job, item);
    struct work *live = jobs_live(job, item);
    if (st.state == JOB_DONE || (live && live->ending))
        return -EALREADY;
    if (st.cancel_asked)
        return 0;
    if (job->array && array_reserve(job->array, item) < 0)
        return -ENOMEM;
    int r = core_post(tx, job, item, &ev);
    if (r < 0)
        return r;
    if (!job->array)
        queue_remove(&tx->m->queue, &job->node);
    jobs_wake(live ? live : job->live, tx);
    if (!job->tasks)
        job_retire(tx, job);
    return 0;
}

int core_cancel_elements(struct tx *tx, struct job *job, int64_t *at, size_t looks,
                         size_t facts)
{
    struct manager *m = tx->m;

    for (; looks > 0 && m->held.facts < facts; looks--, ++*at) {
        const struct job_status *st = array_find_own(job->array, at);

        if (!st)
            return 0;
        manager_did(m, 1, 0, 0);
        if (st->state != JOB_DONE && core_cancel(tx, job, *at) == -ENOMEM)
            return -ENOMEM;
    }
    return -EAGAIN;
}

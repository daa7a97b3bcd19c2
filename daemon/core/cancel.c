/* See cancel.h. */
#include "daemon/core/cancel.h"

#include <errno.h>

#include "daemon/core/act.h"
#include "daemon/core/phase.h"
#include "daemon/core/state.h"
#include "daemon/core/post.h"

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
    return job_act(tx, job, NO_OFFSET);
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
    if (!live && st.state != JOB_QUEUED && !jobs_is_process(job) &&
        phase_is_closed(tx->core))
        return -ESHUTDOWN; /* its task, which would end it, went with the runtime */
    if (job->array && array_reserve(job->array, item) < 0)
        return -ENOMEM;
    int r = core_post(tx, job, item, &ev);
    if (r < 0)
        return r;
    return job_act(tx, job, item);
}

int core_cancel_elements(struct tx *tx, struct job *job, int64_t *at)
{
    struct core *core = tx->core;

    for (; !core_is_used_up(core); ++*at) {
        const struct job_status *st = array_find_own(job->array, at);

        if (!st)
            return 0;
        core_did(core, 1, 0, 0);
        if (st->state != JOB_DONE && core_cancel(tx, job, *at) == -ENOMEM)
            return -ENOMEM;
    }
    return -EAGAIN;
}

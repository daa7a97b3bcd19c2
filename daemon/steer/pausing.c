/* See pausing.h. */
#include "daemon/steer/pausing.h"

#include <errno.h>

#include "daemon/core/post.h"
#include "daemon/core/parts.h"
#include "daemon/core/core.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/core/work.h"
#include "daemon/job/array.h"
#include "daemon/store/commit_log.h"

static int post(struct tx *tx, struct job *job, int64_t offset, struct pausing *p)
{
    const struct job_event ev = {.type = p->on ? JOB_EV_PAUSE : JOB_EV_RESUME,
                                 .at_usec = jobs_now_usec(),
                                 .by = p->by};
    int r = p->on ? core_refusal(tx->core) : 0;

    if (r == 0)
        r = core_post(tx, job, offset, &ev);
    if (r < 0)
        return r;
    p->any = true;
    jobs_wake(jobs_live(job, offset), tx);
    return -EAGAIN;
}

/* A starting job with a slot will run in a moment. */
static int why_not(const struct pausing *p, const struct job_status *st,
                   const struct work *w)
{
    if (st->state == JOB_STARTING && p->on && w && work_has_slot(w))
        return -EAGAIN;
    return p->on ? -EBUSY : -ESRCH;
}

static int step_one(struct tx *tx, struct job *job, int64_t offset, struct pausing *p)
{
    const struct job_status st = jobs_any_status(job, offset);
    const struct work *w = jobs_live(job, offset);

    if (st.state == JOB_DONE || (w && w->ending))
        return -EALREADY;
    if (st.state == (p->on ? JOB_RUNNING : JOB_PAUSED))
        return post(tx, job, offset, p);
    if (st.state == (p->on ? JOB_PAUSED : JOB_RUNNING) && w && w->halted != p->on)
        return -EAGAIN;
    p->any |= st.state == JOB_PAUSED;
    return st.state == JOB_PAUSED ? 0 : why_not(p, &st, w);
}

/* Visits the elements again and again, until one pass finds all of them done. */
static int step_array(struct tx *tx, struct job *job, struct pausing *p)
{
    while (!core_is_used_up(tx->core) && tx_has_room(tx)) {
        if (!array_find_own(job->array, &p->at)) {
            const bool waits = p->waits;
            p->at = 0;
            p->waits = false;
            p->rests = waits;
            return waits ? -EAGAIN : p->any ? 0 : p->on ? -EBUSY : -ESRCH;
        }
        core_did(tx->core, 1, 0, 0);
        int r = step_one(tx, job, p->at++, p);
        if (r == -ENOMEM || store_refusal_text(r))
            return r;
        p->waits |= r == -EAGAIN;
    }
    p->rests = false;
    return -EAGAIN;
}

int pausing_step(struct tx *tx, struct job *job, int64_t offset, struct pausing *p)
{
    if (jobs_done(job))
        return p->any ? 0 : -EALREADY;
    if (!jobs_is_process(job))
        return -EOPNOTSUPP;
    if (job->array && offset == NO_OFFSET)
        return step_array(tx, job, p);
    p->rests = true;
    /* The request was fulfilled once. If somebody has undone it since, it is not
     * repeated: two opposite requests would never end. */
    const enum job_state undone = p->on ? JOB_RUNNING : JOB_PAUSED;
    if (p->any && jobs_any_status(job, offset).state == undone)
        return 0;
    int r = step_one(tx, job, offset, p);
    return p->any && (r == -EALREADY || r == -EBUSY || r == -ESRCH) ? 0 : r;
}

/* Survivors of an ended job: processes that SIGKILL did not end.
 *
 * While they live, the job has its claims, and its task stays to look for them. When none
 * is left, the store learns that no more facts of the job follow (STORE_LAST). So the
 * next voltd goes on looking. The job's end names at most eight pids. If it does not name
 * all, or the survivors are unknown, the claims are given back with the next boot. The
 * user may give them back earlier (steer/leftover.c). */
#include "daemon/core/parts.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/grant.h"
#include "daemon/run/survivors.h"
#include "daemon/run/work.h"

#define LOOK_AGAIN UINT64_C(500000)

static bool may_live(const struct job_status *st)
{
    uint32_t n = 0;

    if (st->survivors == JOB_SURVIVORS_UNKNOWN || !st->named)
        return true;
    for (; n < JOB_NAMED_MAX && st->named->pid[n]; n++)
        if (survivor_lives(st->named, n))
            return true;
    return n < st->survivors;
}

void work_release_claims(struct tx *tx, struct work *w)
{
    if (w->claims_released)
        return;
    w->claims_released = true;
    grant_release_locks(tx->core, w);
    jobs_wake(w, tx);
    if (w->job->array) /* last task of the array does it */
        return;
    job_append_last(tx, w->job, jobs_status(w->job, w->offset)->ended_usec);
    core_did(tx->core, 0, 0, 1);
}

/* Waits until the next look, or until the claims are given back. */
static enum volt_poll wait_more(struct volt_cx *cx, struct work *w)
{
    work_leaf_fini(w);
    volt_sleep_init(&w->leaf.sleep, LOOK_AGAIN);
    core_lock(w->core);
    const bool released = w->claims_released;
    work_wait_here(cx, w);
    core_unlock(w->core);
    if (work_time_poll(cx, &w->leaf.sleep) == VOLT_READY)
        volt_cx_wake(cx);
    return released ? VOLT_READY : VOLT_PENDING;
}

enum volt_poll work_gone_poll(struct volt_cx *cx, struct work *w)
{
    struct tx tx;

    if (!w->job)
        return VOLT_READY;
    core_lock(w->core);
    const struct job_status st = *jobs_status(w->job, w->offset);
    const bool released = w->claims_released;
    core_unlock(w->core);
    if (!jobs_left(w->job, &st) || released)
        return VOLT_READY;
    if (w->leaf_is_commit)
        work_leaf_fini(w);
    if (w->leaf.sleep.deadline_usec && work_time_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!st.other_life && may_live(&st))
        return wait_more(cx, w);
    core_begin(&tx, w->core);
    work_release_claims(&tx, w);
    dispatch_finish(&tx);
    return VOLT_READY;
}

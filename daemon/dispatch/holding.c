/* See holding.h. */
#include "daemon/dispatch/holding.h"

#include <errno.h>

#include "daemon/core/conditions.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/core/work.h"

/* Takes back the work's slot, or its early start. */
static void take_back(struct core *core, struct work *w)
{
    if (work_has_slot(w))
        grant_return(core, w);
    else if (work_is_early(w))
        grant_set_early(core, w, false);
}

static int hold_now(struct tx *tx, struct job *job, const struct hold *by)
{
    int r = conditions_hold(tx->core, job, by);

    return r < 0 ? r : conditions_keep_hold(tx, job);
}

/* Calls back elements that have a slot or start early. Elements beyond the room of tx
 * defer themselves after EARLY_WAIT. */
static void call_elements_off(struct tx *tx, struct job *job)
{
    for (struct list_node *n = job->elements->waiting.first; n && tx_has_room(tx);
         n = n->next) {
        struct work *w = list_thing(n, struct work, element);

        if (jobs_status(job, w->offset)->state == JOB_QUEUED)
            take_back(tx->core, w);
        else
            jobs_wake(w, tx);
    }
}

static int hold_array(struct tx *tx, struct job *job, const struct hold *by)
{
    const struct elements *e = job->elements;

    if (!job->array->rest && !e->nwaiting && !e->nresting && !job->array->held)
        return -EBUSY;
    int r = hold_now(tx, job, by);
    if (r == 0)
        call_elements_off(tx, job);
    return r;
}

static int hold_early(struct tx *tx, struct job *job, const struct hold *by, bool again)
{
    struct work *w = job->live;

    if (conditions_is_held(job))
        return -EAGAIN;
    if (again || !w || !work_is_early(w))
        return -EBUSY;
    int r = conditions_hold(tx->core, job, by);
    if (r == 0)
        jobs_wake(w, tx);
    return r < 0 ? r : -EAGAIN;
}

/* Returns whether the user has held the job too often. A job that is held already needs
 * no fact and is always accepted. */
static bool is_too_much(const struct job *job, const struct hold *by)
{
    const uint16_t holds = job->array ? job->array->holds : job->status.holds;

    return holds >= JOB_HOLDS_MAX && !by->by_admin && !conditions_is_held(job);
}

int holding_job(struct tx *tx, struct job *job, const struct hold *by, bool again)
{
    const int r = again ? 0 : is_too_much(job, by) ? -EDQUOT : core_refusal(tx->core);

    if (jobs_done(job))
        return -EALREADY;
    if (r < 0)
        return r;
    if (job->array)
        return job->array->cancelled_usec ? -EBUSY : hold_array(tx, job, by);
    if (job->status.state == JOB_STARTING)
        return hold_early(tx, job, by, again);
    if (job->status.state != JOB_QUEUED)
        return -EBUSY;
    if (job->live)
        take_back(tx->core, job->live);
    return hold_now(tx, job, by);
}

int holding_release(struct tx *tx, struct job *job, uid_t by, bool is_admin)
{
    const struct job_event ev = {
        .type = JOB_EV_RELEASE, .at_usec = jobs_now_usec(), .by = by};
    const enum job_held held = conditions_held(job);

    if (jobs_done(job))
        return -EALREADY;
    if (!held)
        return -ESRCH;
    if (held == JOB_HELD_BY_ADMIN && !is_admin)
        return -EPERM;
    int r = core_post(tx, job, NO_OFFSET, &ev);
    if (r == 0)
        conditions_release(tx->core, job);
    return r;
}

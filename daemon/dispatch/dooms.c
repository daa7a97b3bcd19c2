/* See dooms.h. */
#include "daemon/dispatch/dooms.h"

#include <errno.h>

#include "daemon/admit/doom.h"
#include "daemon/admit/timed.h"
#include "daemon/core/act.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/grant.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/core.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/core/work.h"
#include "daemon/job/array.h"

#define LOOK_AGAIN UINT64_C(100000) /* us */

static struct job_event event_of(const struct doom *d)
{
    switch (d->reason) {
    case DOOM_DEPENDENCY:
        return (struct job_event){.type = JOB_EV_DEPENDENCY,
                                  .at_usec = jobs_now_usec(),
                                  .antecedent = d->antecedent,
                                  .result = d->result};
    case DOOM_EXPIRED:
        break;
    }
    return (struct job_event){.type = JOB_EV_EXPIRED, .at_usec = jobs_now_usec()};
}

static bool has_room(const struct tx *tx)
{
    return tx_has_room(tx) && parts_of(tx->core)->held->facts < QUOTA_FACTS;
}

/* Ends a job. Returns
 *   0           it ends
 *   -EBUSY      it is starting
 *   -EALREADY   it has started
 *   -ENOMEM, or another error of the store */
static int end_one(struct tx *tx, struct job *job, const struct job_event *ev)
{
    if (job->status.state > JOB_STARTING || jobs_has_begun(job))
        return -EALREADY;
    if (job->status.state == JOB_STARTING || (job->live && work_has_slot(job->live)))
        return -EBUSY;
    int r = core_post(tx, job, NO_OFFSET, ev);
    return r < 0 ? r : job_act(tx, job, NO_OFFSET);
}

/* Returns whether an element has its slot but has not taken its turn. */
static bool any_granted(const struct job *job)
{
    return job->array->by_state[JOB_QUEUED] > job->array->rest + job->elements->nwaiting;
}

static int end_element(struct tx *tx, struct job *job, struct work *w)
{
    const struct job_event ev = array_end_event(job->array, jobs_now_usec());
    int r = core_post(tx, job, w->offset, &ev);

    if (r < 0)
        return r;
    grant_leave(tx->core, w);
    return job_act(tx, job, w->offset); /* cannot fail: the element has a task */
}

/* Ends elements that came back from an early start or a slot. There may be many: until
 * all have ended the array stays doomed, and none of them starts (work_take_turn()).
 * Returns 0, -EAGAIN or -ENOMEM. */
static int end_waiting(struct tx *tx, struct job *job)
{
    const struct list *waiting = &job->elements->waiting;
    int r = 0;

    while (r == 0 && waiting->first && !jobs_done(job))
        r = has_room(tx)
                ? end_element(tx, job, list_thing(waiting->first, struct work, element))
                : -EAGAIN;
    return r;
}

/* Ends an array; returns as end_one(), or -EAGAIN: the rest of it stays doomed. */
static int end_array(struct tx *tx, struct job *job, const struct job_event *ev)
{
    if (jobs_has_begun(job))
        return -EALREADY;
    if (array_busy(job->array) || any_granted(job))
        return -EBUSY;
    int r = array_is_doomed(job->array) ? 0 : core_post(tx, job, NO_OFFSET, ev);
    if (r == 0)
        r = end_waiting(tx, job);
    return r < 0 ? r : job_act(tx, job, NO_OFFSET);
}

/* Handles a job that could not be ended. Returns 0: it is looked at again later; -ENOMEM:
 * at the next run. */
static int put_off(struct core *core, const struct doom *d, int r)
{
    switch (d->reason) {
    case DOOM_DEPENDENCY: /* it waits for its antecedent, so it cannot have started */
        return -ENOMEM;
    case DOOM_EXPIRED:
        break;
    }
    doom_set(parts_of(core)->admit, d->waiter,
             r == -EALREADY ? TIMED_NEVER : jobs_now_usec() + LOOK_AGAIN);
    return 0;
}

static int end(struct tx *tx, const struct doom *d)
{
    struct job *job = job_of_waiter(d->waiter);
    const struct job_event ev = event_of(d);

    core_did(tx->core, 1, 0, 0);
    return job->array ? end_array(tx, job, &ev) : end_one(tx, job, &ev);
}

int dooms_run(struct tx *tx)
{
    struct core *core = tx->core;
    const struct doom *d;
    int r = 0;

    while (r == 0 && (d = doom_first(parts_of(core)->admit))) {
        r = has_room(tx) ? end(tx, d) : -EAGAIN;
        if (r < 0 && r != -EAGAIN)
            r = put_off(core, d, r);
    }
    return r;
}

/* See standing.h. */
#include "daemon/query/standing.h"

#include "daemon/admit/admission.h"
#include "daemon/core/conditions.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/dispatch.h"

/* Queues the job in its own state only: it is in no table, and no event is posted. */
static void queue_job(struct job *job)
{
    const struct job_event submit = job_spec_submission(job->spec, jobs_now_usec());
    struct array_effects fx;

    job->status.submitted_usec = submit.at_usec;
    if (job->array)
        (void)array_update(job->array, ARRAY_WHOLE, &submit, &fx);
    else
        (void)job_update(&job->status, &submit);
}

void query_standing(struct core *core, struct job *job, struct standing *ret)
{
    struct tx tx;

    core_begin(&tx, core);
    queue_job(job);
    if (job->waiter.state != WAITER_NONE) {
        job->waiter.rank = UINT64_MAX;
        admission_enter(parts_of(core)->admit, &job->waiter, waiting_now(core));
    }
    core_wait_begins(core, job, job->spec);
    waiting_recount(core, job);
    query_why_new(core, job, &ret->why);
    ret->is_forecast = ret->why.n == 1 && ret->why.line.places &&
                       query_forecast_of(core, job, NO_OFFSET, &ret->why.line,
                                         &ret->running, &ret->line);
    if (ret->why.is_next)
        ret->why.n = 0;
    conditions_forget(core, job);
    dispatch_finish(&tx);
}

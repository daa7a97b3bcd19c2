/* See each_run.h. */
#include "daemon/dispatch/each_run.h"

#include <errno.h>

#include "daemon/core/act.h"
#include "daemon/core/each.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/core/post.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"

#define LOOKS 256 /* elements, and words of 64, in one hold of the lock */

/* Returns whether the element has no status of its own yet. */
static bool is_in_rest(const struct job *job, uint64_t offset)
{
    return job->array->rest && !array_own(job->array, (int64_t)offset);
}

static int end_element(struct tx *tx, const struct each_edge *edge, uint64_t offset,
                       enum job_result result)
{
    const struct job_event ev = {.type = JOB_EV_DEPENDENCY,
                                 .at_usec = jobs_now_usec(),
                                 .antecedent = edge->antecedent,
                                 .result = result};

    if (array_reserve(edge->job->array, (int64_t)offset) < 0)
        return -ENOMEM;
    int r = core_post(tx, edge->job, (int64_t)offset, &ev);
    return r < 0 ? r : job_act(tx, edge->job, (int64_t)offset);
}

static int look(struct tx *tx, struct each_edge *edge, uint64_t offset)
{
    struct job *job = edge->job;
    enum job_result result;
    bool started;
    int r = 0;

    each_status(tx->core, edge, offset, &started, &result);
    const bool met = job_after_is_met(edge->when, started, result);
    if (!met && !result)
        return 0;
    if (!met && is_in_rest(job, offset))
        r = end_element(tx, edge, offset, result);
    if (r < 0)
        return r;
    if (each_decide(edge, offset, met)) {
        waiting_update(tx->core, job);
        jobs_wake(job->live, tx); /* an array without slots has a task */
    }
    return 0;
}

int each_run(struct tx *tx)
{
    struct core *core = tx->core;
    unsigned budget = LOOKS;
    struct each_edge *edge;
    uint64_t offset;

    while (tx_has_room(tx) && parts_of(core)->held->facts < QUOTA_FACTS &&
           (edge = each_next_due(core, &budget, &offset))) {
        core_did(core, 1, 0, 0);
        if (look(tx, edge, offset) < 0) {
            each_put_back(core, edge, offset);
            return -ENOMEM;
        }
    }
    return each_is_due(core) ? -EAGAIN : 0;
}

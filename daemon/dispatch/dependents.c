/* See dependents.h. */
#include "daemon/dispatch/dependents.h"

#include <errno.h>

#include "daemon/admit/condition.h"
#include "daemon/core/post.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/core.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/core/waiting.h"

#define LOOKS 256 /* edges decided in one hold of the lock */

static int meet(struct tx *tx, struct condition *c)
{
    struct core *core = tx->core;
    struct job_event ev = {.type = JOB_EV_MET, .at_usec = jobs_now_usec()};

    ev.antecedent = condition_after_of(c, &ev.when);
    int r = core_post(tx, job_of_waiter(c->waiter), NO_OFFSET, &ev);

    if (r == 0)
        condition_met(parts_of(core)->admit, c, waiting_now(core));
    return r;
}

int dependents_run(struct tx *tx)
{
    struct core *core = tx->core;
    unsigned budget = LOOKS;
    struct condition *c;

    while (parts_of(core)->held->facts < QUOTA_FACTS &&
           (c = condition_after_due(parts_of(core)->admit, &budget))) {
        core_did(core, 1, 0, 0);
        if (meet(tx, c) < 0)
            return -ENOMEM;
    }
    return condition_after_is_due(parts_of(core)->admit) ? -EAGAIN : 0;
}

/* The task of an array that needs no slots: starts the elements. */
#include <errno.h>

#include "daemon/core/each.h"
#include "daemon/core/parts.h"
#include "daemon/core/phase.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/grant.h"
#include "daemon/run/kinds.h"
#include "daemon/run/work.h"

#define EXPAND_BATCH 32 /* elements started per poll */

/* READY: all elements were started or cancelled. */
static enum volt_poll expand_poll(struct volt_cx *cx, struct work *w)
{
    struct core *core = w->core;
    struct job *job = w->job;
    struct tx tx;
    bool again = false;

    core_begin(&tx, core);
    bool may = !phase_is_closed(core) && !waiting_has_to(job);
    while (may && each_rest(job) && tx.nspawn < EXPAND_BATCH && !again)
        again = !grant_element(&tx, job);
    bool all = !job->array->rest, more = tx.nspawn == EXPAND_BATCH;
    if (!all && !again)
        work_wait_here(cx, w);
    dispatch_finish(&tx);

    if (more && !all)
        volt_cx_wake(cx); /* lets the elements run first */
    if (again)
        (void)work_turn_taken(cx, w, -ENOMEM); /* after a rest */
    return all ? VOLT_READY : VOLT_PENDING;
}

/* Ends the array's own task, mostly before its last elements. The drop of the last of
 * these tasks retires the job. */
static enum volt_poll array_poll(struct volt_cx *cx, void *state)
{
    return expand_poll(cx, state);
}

const struct volt_task_type array_task = {"job array", sizeof(struct work), array_poll,
                                          work_drop, NULL};

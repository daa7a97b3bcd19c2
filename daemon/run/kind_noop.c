/* Kind noop: starts and ends at once. */
#include "daemon/core/post.h"
#include "daemon/core/parts.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/run/kinds.h"
#include "daemon/run/work.h"

/* Takes turn, start and end in one section under the lock, as nothing is waited for in
 * between. READY: the end is on its way into the store. */
static enum volt_poll turn_poll(struct volt_cx *cx, struct work *w)
{
    struct core *core = w->core;
    struct job_event started = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};
    struct tx tx;

    work_leaf_fini(w); /* rest for lack of memory */
    core_begin(&tx, core);
    int r = work_take_turn(cx, w, started.at_usec, &tx);
    if (r > 0) {
        if (!w->adopted && jobs_status(w->job, w->offset)->state != JOB_DONE)
            (void)core_post(&tx, w->job, w->offset, &started);
        w->end_usec = started.at_usec;
        const struct job_event end = work_success(w);
        work_post_end(w, &end, &tx);
    }
    dispatch_finish(&tx);
    return work_turn_taken(cx, w, r);
}

static enum volt_poll noop_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event end;

    VOLT_BEGIN(w->at);
    VOLT_AWAIT(w->at, turn_poll(cx, w));
    VOLT_AWAIT(w->at, (end = work_success(w), work_finish_poll(cx, w, &end)));
    VOLT_END(w->at);
}

const struct volt_task_type kind_noop_task = {"job noop", sizeof(struct work), noop_poll,
                                              work_drop, NULL};

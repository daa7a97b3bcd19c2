/* Kind exec: attempts of a process (attempt.c). Another one follows a lost or failed one,
 * if the job may have more. */
#include "daemon/run/attempt.h"

#include <errno.h>

#include "daemon/core/post.h"
#include "daemon/run/hook.h"
#include "daemon/run/kinds.h"

/* READY: the work has its attempt, or fails for lack of memory. An adopted work must not
 * fail, as it may run: it tries again after a rest. */
static enum volt_poll prepared_poll(struct volt_cx *cx, struct work *w)
{
    const struct job_key key = jobs_key(w->job, w->offset);

    while (w->adopted && !w->attempt) {
        if (w->leaf.sleep.deadline_usec &&
            volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
            return VOLT_PENDING;
        work_leaf_fini(w);
        work_prepare(cx, w, &key);
        if (!w->attempt)
            volt_sleep_init(&w->leaf.sleep, POST_AGAIN);
    }
    return VOLT_READY;
}

static struct job_event end_of(struct work *w)
{
    if (w->attempt)
        return w->attempt->end;
    return (struct job_event){.type = JOB_EV_EXITED,
                              .at_usec = jobs_now_usec(),
                              .result = JOB_RESULT_EXEC_FAILED,
                              .code = ENOMEM,
                              .step = "launch"};
}

/* Passes the result of the commit to the attempt. A work cancelled in the queue has no
 * end of its own. */
static void take_end(struct volt_cx *cx, struct work *w)
{
    if (w->attempt && w->attempt->state.phase == ATTEMPT_ENDING)
        attempt_take(cx, w, w->leaf.commit.status == 0 ? ON_DURABLE : ON_STORE_REFUSED);
}

static enum volt_poll exec_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event end;

    VOLT_BEGIN(w->at);
    for (;;) {
        VOLT_AWAIT(w->at, work_turn_poll(cx, w));
        if (!w->ended) {
            if (!w->attempt) { /* a deferred one has it still */
                const struct job_key key = jobs_key(w->job, w->offset);
                work_prepare(cx, w, &key);
            }
            VOLT_AWAIT(w->at, work_commit_poll(cx, w));
            VOLT_AWAIT(w->at, prepared_poll(cx, w));
            if (w->attempt) {
                attempt_take_commit(cx, w);
                VOLT_AWAIT(w->at, attempt_poll(cx, w));
                if (w->attempt->state.phase == ATTEMPT_NEW)
                    continue;
            }
        }
        hooks_exited(cx, w);
        VOLT_AWAIT(w->at, (end = end_of(w), work_finish_poll(cx, w, &end)));
        hooks_retired(w);
        take_end(cx, w);
        if (!w->again)
            break;
        work_begin_again(w);
    }
    VOLT_AWAIT(w->at, work_gone_poll(cx, w));
    VOLT_END(w->at);
}

const struct volt_task_type kind_exec_task = {"job exec", sizeof(struct work), exec_poll,
                                              work_drop, NULL};

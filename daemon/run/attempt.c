/* The driver of an attempt: a run of a process, from STARTING to the exact end in its
 * record.
 *
 *   1. STARTING is committed, maybe before there is a slot (early_start.h).
 *   2. With the slot, the record is made. START goes to the keeper with the record's
 *      descriptor, the right to run. A broken connection proves nothing: only the
 *      record says whether START was carried out.
 *   3. The record also has STARTED with the pid, and the end. If it says "never ran",
 *      the attempt cannot run any more: the record is removed, and another is made.
 *      daemon/job/tries.h says which failures count.
 *   4. A timeout or a cancel sends the stop signal and SIGCONT. After kill_after comes
 *      SIGKILL, again after 1, 2, 4 .. 60 s, until the record says that it is over.
 *      Each signal makes the keeper continue the shim, which the job may have stopped.
 *      When PAUSE is durable, a pause freezes the cgroup (keeper/cgroup.h), or sends
 *      SIGSTOP to the tree. SIGCONT ends it. The timeout does not count paused time.
 *   5. A job with an output limit is checked when it may have printed that much
 *      (output_meter.h), and killed beyond the limit.
 *   6. The end is committed (with the next job's STARTING) and applied. Then the
 *      record is removed, together with others (record_removal.c).
 *
 * The transitions are a table, daemon/job/attempt.c. The phases are driven here:
 * attempt_inputs.c looks for inputs of a phase, attempt_actions.c carries out the actions
 * of a row.
 *
 * An end may lead to another attempt (job.h), with a record of its own. After a lost one
 * the next attempt uses the job's slot, unless the job has more claims. After a failed
 * one it follows after the back-off, with a new slot (work.c).
 *
 * An attempt of an earlier voltd is adopted: its record is read before it waits for a
 * slot. Without a record no START was sent, so the same attempt is started now. If it was
 * begun before a reboot, or with another record directory, it is lost in any case. */
#include "daemon/run/attempt.h"

#include <signal.h>
#include <stdlib.h>

#include "base/crash.h"
#include "daemon/core/interned.h"
#include "daemon/run/hook.h"

/* Notes what an earlier voltd may have done: the attempt began, perhaps under another
 * store or boot; it was paused. */
static void recall_life(struct work *w, struct attempt_state *s)
{
    const struct job_status st = work_look(NULL, w);

    s->known = st.other_life || st.started_usec ? ATTEMPT_STRANGE : ATTEMPT_ADOPTED;
    s->paused = st.state == JOB_PAUSED;
    s->halted = st.state == JOB_RUNNING && st.paused_usec;
}

void work_prepare(struct volt_cx *cx, struct work *w, const struct job_key *key)
{
    struct attempt *a = calloc(1, sizeof(*a));

    if (!a || !(a->room = interned_room())) {
        free(a);
        return;
    }
    w->attempt = a;
    a->key = *key;
    a->owner = w->job->owner.uid;
    a->state.stop_kills = w->job->spec->stop_signal == SIGKILL;
    a->args = (struct keeper_start_args){.record_fd = -1,
                                         .launch_fd = -1,
                                         .stdin_fd = -1,
                                         .stdout_fd = -1,
                                         .stderr_fd = -1,
                                         .script_fd = -1};
    if (w->adopted)
        recall_life(w, &a->state);
    else /* a failure is tried again before START */
        (void)hooks_prepare(cx,
                            &(struct preparing){w->core, w->job->spec, key,
                                                w->job->recovered || key->attempt > 1,
                                                &a->args},
                            &a->step);
}

static void begin(struct volt_cx *cx, struct work *w, enum attempt_input in)
{
    CRASH_POINT("start-committed");
    attempt_take(cx, w, in);
}

void work_send_start(struct work *w)
{
    struct attempt *a = w->attempt;

    if (!a)
        return;
    begin(NULL, w, ON_MARKED);
    attempt_take(NULL, w, ON_SLOT);
    if (a->state.phase == ATTEMPT_STARTING)
        keeper_call_send(&a->call);
}

void attempt_take_commit(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    enum attempt_input in = ON_MARKED;

    if (a->state.phase != ATTEMPT_NEW)
        return;
    if (w->leaf.commit.status < 0) {
        in = ON_UNMARKED;
        a->step = "store";
        a->error = -w->leaf.commit.status;
    } else if (a->state.known == ATTEMPT_ADOPTED || a->state.known == ATTEMPT_STRANGE) {
        in = ON_ADOPTED;
    }
    begin(cx, w, in);
}

enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w)
{
    const struct attempt_state *s = &w->attempt->state;

    while (s->phase != ATTEMPT_ENDING && s->phase != ATTEMPT_NEW) {
        int in = attempt_next_input(cx, w);
        if (in < 0)
            return VOLT_PENDING;
        attempt_take(cx, w, (enum attempt_input)in);
    }
    return VOLT_READY;
}

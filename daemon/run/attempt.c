/* One run of a process: from STARTING to the exact end in its record.
 *
 *   1. STARTING is committed, maybe before there is a slot (early_start.h).
 *   2. With the slot its record is made. START goes to the keeper with its descriptor,
 *      the right to run. A broken connection proves nothing: the record tells.
 *   3. It tells the rest too: STARTED with the pid, and the end. A record that says
 *      "never ran" cannot run any more: it is removed, and another one is made.
 *      What counts as a failure then is in daemon/job/tries.h.
 *   4. A timeout or a cancel sends the stop signal and SIGCONT, kill_after later SIGKILL,
 *      again after 1, 2, 4 .. 60 s, until the record says that it is over. With each
 *      the keeper continues the shim, which the job may have stopped.
 *      A pause freezes its cgroup (keeper/cgroup.h), or sends its tree SIGSTOP, when
 *      the store has PAUSE, and SIGCONT when it is over; the timeout does not count
 *      the time between.
 *   5. A job with an output limit is looked at when it may have printed that much
 *      (output_meter.h), and killed beyond it.
 *   6. The end is committed (the next job's STARTING with it), applied, then the record
 *      is removed, with others (record_removal.c).
 *
 * What leads to what is a table, daemon/job/attempt.c. Here its phases are driven:
 * attempt_inputs.c looks at what a phase waits for, attempt_actions.c does what its row
 * says.
 *
 * An end may lead to another attempt (job.h), with a record of its own: one that is lost
 * in the slot that the job has, unless it claims more; one that failed after its
 * back-off, with a slot of its own (work.c).
 *
 * An attempt of an earlier daemon is adopted: its record is looked at first, before it
 * waits for a slot. No record means that no START was ever sent, so it is started
 * now, the same attempt; but not when it was begun before a reboot or with another record
 * directory: then it is lost, whatever became of it. */
#include "daemon/run/attempt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/crash.h"
#include "daemon/core/interned.h"
#include "daemon/run/hook.h"

/* What an earlier voltd may have done to it: it has begun, or another life might have
 * seen it begin; it was stopped. */
static void recall_life(struct work *w, struct attempt_state *s)
{
    const struct job_status st = work_look(NULL, w);

    s->known = st.other_life || st.started_usec ? ATTEMPT_STRANGE : ATTEMPT_ADOPTED;
    s->paused = st.state == JOB_PAUSED;
    s->halted = st.state == JOB_RUNNING && st.pause.total_usec;
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
    else /* what fails now is tried again before START */
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
        int in = attempt_hear(cx, w);
        if (in < 0)
            return VOLT_PENDING;
        attempt_take(cx, w, (enum attempt_input)in);
    }
    return VOLT_READY;
}

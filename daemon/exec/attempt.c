/* One run of a process: from STARTING to the exact end in its record.
 *
 *   1. STARTING is committed, maybe before there is a slot (ahead.h).
 *   2. START goes to the keeper, maybe to begin after another job (relay.h). A broken
 *      connection proves nothing: the same START goes to the next keeper, whose "exists"
 *      means that the first one was carried out.
 *   3. The record tells the rest: STARTED with the pid, and the end. A record that says
 *      "never ran" is removed and started again.
 *      What counts as a failure then is in daemon/job/tries.h.
 *   4. A timeout or a cancel sends the stop signal and SIGCONT, kill_after later SIGKILL,
 *      again after 1, 2, 4 .. 60 s, until the record says that it is over. With each
 *      the keeper continues the shim, which the job may have stopped.
 *   5. A job with an output limit is looked at when it may have printed that much
 *      (output_meter.h), and killed beyond it.
 *   6. The end is committed (the next job's STARTING with it), applied, then the record
 *      is removed, with others (sweep.c).
 *
 * What leads to what is a table, daemon/job/attempt.c. Here its phases are driven:
 * attempt_inputs.c looks at what a phase waits for, attempt_actions.c does what its row
 * says.
 *
 * An end that is lost may lead to another attempt (job.h): in the slot that the job has,
 * with a record of its own.
 *
 * An attempt of an earlier daemon is adopted: its record is looked at first, before it
 * waits for a slot. No record means that START never came to the keeper, so it is started
 * now, the same attempt; but not when it was begun before a reboot or with another record
 * directory: then it is lost, whatever became of it. */
#include "daemon/exec/attempt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/crash.h"
#include "daemon/exec/launch.h"

/* Whether it has begun, or another life might have seen it begin. */
static bool may_have_begun(struct work *w)
{
    manager_lock(w->manager);
    const struct job_status *st = jobs_status(w->job, w->offset);
    bool yes = st->other_life || st->started_usec != 0;
    manager_unlock(w->manager);
    return yes;
}

void work_prepare(struct volt_cx *cx, struct work *w, const struct job_key *key)
{
    struct attempt *a = calloc(1, sizeof(*a));

    if (!a)
        return;
    w->attempt = a;
    a->start = UINT64_MAX;
    a->state.stop_kills = w->job->spec->stop_signal == SIGKILL;
    a->args = (struct keeper_start_args){
        .launch_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
    if (w->adopted)
        a->state.known = may_have_begun(w) ? ATTEMPT_STRANGE : ATTEMPT_ADOPTED;
    else /* what fails now is tried again before START */
        (void)launch_prepare(cx, w->manager, w->job->spec, key,
                             w->job->recovered || key->attempt > 1, &a->args, &a->step);
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

/* The commit of STARTING is over. An attempt that was begun before has had none. */
static void take_commit(struct volt_cx *cx, struct work *w)
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
        in = keeper_link_is_late(w->manager->link) ? ON_LATE : ON_ADOPTED;
    }
    begin(cx, w, in);
}

/* READY: a->end is the end, or it is new again: it waits in the queue. */
static enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w)
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

/* What of so many bytes is beyond the limit that has ended it, rounded up. */
static uint32_t over_kib(struct work *w, uint64_t bytes)
{
    uint64_t limit = w->job->spec->output_limit;

    if (bytes <= limit)
        return 0;
    manager_lock(w->manager);
    bool ended = jobs_status(w->job, w->offset)->printed_too_much;
    manager_unlock(w->manager);
    uint64_t kib = (bytes - limit + 1023) / 1024;
    return !ended ? 0 : kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

/* What it has printed goes into the store with its end, if it is little. A disk that is
 * full has room for ends only. */
static void look_at_output(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    const struct job_spec *spec = w->job->spec;
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    struct store_health health;
    uint64_t fold = 0;

    if (!a || spec->output != JOB_OUTPUT_FILE)
        return;
    if (store_keeps_output(m->store)) {
        manager_lock(m);
        fold = m->limits.fold_output;
        manager_unlock(m);
        store_health(m->store, &health);
        if (health.full || health.failing)
            fold = 0;
    }
    a->printed.began =
        a->record.verdict == RECORD_DONE || a->record.verdict == RECORD_SHIM_KILLED;
    output_end_look(cx, &m->outputs, &key, spec->output_split, fold, &a->printed);
    w->printed = &a->printed;
    a->end.kept = a->printed.kept;
    a->end.over_kib = over_kib(w, a->printed.bytes);
}

static void give_up_output(struct work *w)
{
    struct job_key key = attempt_key(w);

    if (w->printed)
        output_end_finish(&w->manager->outputs, &key, w->printed,
                          !w->again && w->leaf.commit.status == 0);
    w->printed = NULL;
}

/* What was cancelled in the queue has no end of its own. */
static void take_end(struct volt_cx *cx, struct work *w)
{
    if (w->attempt && w->attempt->state.phase == ATTEMPT_ENDING)
        attempt_take(cx, w, w->leaf.commit.status == 0 ? ON_KEPT : ON_UNKEPT);
}

enum volt_poll work_exec_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event end;

    VOLT_BEGIN(w->at);
    for (;;) {
        VOLT_AWAIT(w->at, work_turn_poll(cx, w));
        if (!work_ended(w)) {
            if (!w->attempt) { /* one that was deferred has it still */
                const struct job_key key = attempt_key(w);
                work_prepare(cx, w, &key);
            }
            VOLT_AWAIT(w->at, work_commit_poll(cx, w));
            if (w->attempt) {
                take_commit(cx, w);
                VOLT_AWAIT(w->at, attempt_poll(cx, w));
                if (w->attempt->state.phase == ATTEMPT_NEW)
                    continue;
            }
        }
        look_at_output(cx, w);
        VOLT_AWAIT(w->at, (end = end_of(w), work_finish_poll(cx, w, &end)));
        give_up_output(w);
        take_end(cx, w);
        if (!w->again)
            break;
        work_begin_again(w);
    }
    VOLT_END(w->at);
}

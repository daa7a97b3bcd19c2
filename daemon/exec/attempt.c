/* One run of a process: from STARTING to the exact end in its record.
 *
 *   1. STARTING is committed, maybe before there is a slot (ahead.h).
 *   2. START goes to the keeper, maybe to begin after another job (relay.h). A broken
 *      connection proves nothing: the same START goes to the next keeper, whose "exists"
 *      means that the first one was carried out.
 *   3. The record tells the rest: STARTED with the pid, and the end. A record that says
 *      "never ran" is removed and started again.
 *      What counts as a failure then is in tries.h.
 *   4. A timeout or a cancel sends the stop signal and SIGCONT, kill_after later SIGKILL,
 *      again every second until the record says that it is over. With each the keeper
 *      continues the shim, which the job may have stopped.
 *   5. A job with an output limit is looked at when it may have printed that much
 *      (output_meter.h), and killed beyond it.
 *   6. The end is committed (the next job's STARTING with it), applied, then the record
 *      is removed, with others (sweep.c).
 *
 * An end that is lost may lead to another attempt (job.h): in the slot that the job has,
 * with a record of its own.
 *
 * An attempt of an earlier daemon is adopted: it begins with 3. No record means that
 * START never came to the keeper, so it is started now, the same attempt; but not when it
 * was begun before a reboot or with another record directory: then it is lost, whatever
 * became of it. */
#include "daemon/exec/attempt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/launch.h"
#include "daemon/observe/log.h"

#define CALL_TRIES 10
#define CALL_AGAIN UINT64_C(50000)

void attempt_free(struct attempt *a)
{
    if (!a)
        return;
    keeper_call_fini(&a->call);
    record_wait_fini(&a->wait);
    volt_sleep_fini(&a->probe);
    volt_sleep_fini(&a->limit);
    meter_fini(&a->meter);
    launch_close(&a->args);
    output_end_finish(NULL, NULL, &a->printed, false);
    free(a);
}

/* The end in words of policy: it did not come to a process. */
void attempt_fail(struct attempt *a, const char *step, int error)
{
    a->over = true;
    a->end = (struct job_event){.type = JOB_EV_EXITED,
                                .at_usec = jobs_now_usec(),
                                .result = JOB_RESULT_EXEC_FAILED,
                                .code = error,
                                .step = step};
}

struct job_key attempt_key(struct work *w)
{
    return jobs_key(w->job, w->offset);
}

bool attempt_is_to_stop(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    manager_unlock(w->manager, &after);
    return yes;
}

/* Whether it has begun, or another life might have seen it begin. */
static bool may_have_begun(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    const struct job_status *st = jobs_status(w->job, w->offset);
    bool yes = st->other_life || st->started_usec != 0;
    manager_unlock(w->manager, &after);
    return yes;
}

void work_prepare(struct work *w, const struct job_key *key)
{
    struct attempt *a = calloc(1, sizeof(*a));
    const char *step = "launch";

    if (!a)
        return;
    w->attempt = a;
    a->args = (struct keeper_start_args){
        .launch_fd = -1, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1};
    a->adopt = w->adopted;
    if (w->adopted) {
        a->strange = may_have_begun(w);
        return;
    }
    int r = launch_prepare(w->manager, w->job->spec, key,
                           w->job->recovered || key->attempt > 1, &a->args, &step);
    if (r < 0)
        attempt_fail(a, step, -r);
}

static void end_of_record(struct work *w)
{
    struct attempt *a = w->attempt;
    const struct record *rec = &a->record;

    if (rec->has_started && !a->noted)
        attempt_note_started(w, &rec->started);
    a->over = true;
    a->end = launch_end_event(rec);
    if (rec->verdict != RECORD_DONE) /* its shim knows best, and has said so at the end */
        launch_end_survivors(&a->end, &a->left);
    a->end.named = manager_keep_named(w->manager, a->end.named);
}

static void take_record(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    a->calling = false;
    a->call_tries = 0;
    int r = record_wait_result(&a->wait, &a->record);
    record_wait_fini(&a->wait);
    if (r < 0) {
        log_error("record of job %llu: %s", (unsigned long long)key.id, strerror(-r));
        a->record = (struct record){.verdict = RECORD_DAMAGED};
    }
}

/* What must be done about a record before it can be judged; true: a->call says what. */
static bool needs_call(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    keeper_call_fini(&a->call);
    if (a->record.verdict == RECORD_SHIM_KILLED)
        attempt_call_signal(w, SIGKILL, KEEPER_SCOPE_TREE);
    else if (a->record.verdict == RECORD_NEVER_RAN)
        keeper_call_init_remove(&a->call, w->manager->link, &key);
    else
        return false;
    return true;
}

void attempt_note_left(struct work *w)
{
    struct attempt *a = w->attempt;
    const struct keeper_reply *reply = keeper_call_reply(&a->call);
    const int r = reply->status;
    struct aftermath after = {0};

    a->kills++;
    manager_lock(w->manager);
    a->left.n = reply->survivors;
    if (r < 0 && r != -ESRCH && !a->left.n) /* nobody could look */
        a->left.n = JOB_SURVIVORS_UNKNOWN;
    memcpy(a->left.named.pid, reply->survivor, sizeof(a->left.named.pid));
    w->left = a->left.n ? &a->left : NULL;
    manager_unlock(w->manager, &after);
}

void attempt_call_signal(struct work *w, int sig, enum keeper_scope scope)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    keeper_call_fini(&a->call);
    keeper_call_init_signal(&a->call, w->manager->link, &key, sig, scope);
    if (a->kills > 0)
        keeper_call_is_again(&a->call);
}

/* Whether another attempt follows, once nothing of this one is left. */
static bool is_to_go_again(struct work *w)
{
    const struct job_event lost = {.type = JOB_EV_EXITED, .result = JOB_RESULT_LOST};
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = job_goes_again(jobs_status(w->job, w->offset), &lost);
    manager_unlock(w->manager, &after);
    return yes;
}

static void rest_call(struct attempt *a, uint64_t usec)
{
    volt_sleep_fini(&a->limit);
    volt_sleep_init(&a->limit, usec);
}

/* A job that is to stop does not wait for the end of what is left: it ends as it is. */
static enum volt_poll rested_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    return a->left.n ? attempt_rest_poll(cx, w) : volt_sleep_poll(cx, &a->limit);
}

/* Whether it has been done or cannot be; otherwise it is asked for again: a broken
 * connection says nothing, and both requests may be repeated. Two attempts never run side
 * by side: the next one waits for the end of all that is left of this one. */
static bool call_settled(struct work *w)
{
    struct attempt *a = w->attempt;
    int r = keeper_call_status(&a->call);

    if (r == -ECONNRESET || (tries_passing(r) && ++a->call_tries < CALL_TRIES)) {
        rest_call(a, CALL_AGAIN);
        return false;
    }
    if (a->record.verdict == RECORD_NEVER_RAN) {
        if (r < 0)
            attempt_fail(a, "record", -r);
        return true;
    }
    attempt_note_left(w);
    if (a->left.n == 0 || a->left.n == JOB_SURVIVORS_UNKNOWN || !is_to_go_again(w))
        return true;
    rest_call(a, tries_kill_rest(a->kills - 1));
    return false;
}

/* Nobody can follow it: it has not begun. */
static void leave_relay(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    relay_void(w->manager, w);
    manager_unlock(w->manager, &after);
}

/* Over, or to be started once more. */
static void judge_record(struct work *w)
{
    struct attempt *a = w->attempt;

    if (a->over)
        return;
    bool never_ran = a->record.verdict == RECORD_NEVER_RAN ||
                     (a->record.verdict == RECORD_ABSENT && (a->resent || a->adopt));

    never_ran &= !a->strange && !a->noted;

    if (!never_ran) {
        end_of_record(w);
        return;
    }
    a->record.verdict = RECORD_ABSENT; /* removed: nobody is to remove it once more */
    leave_relay(w);
    if (!a->follows && !a->resent && !a->adopt)
        tries_in_vain(&a->tries);
    if (tries_are_over(&a->tries))
        attempt_fail(a, a->tries.refuser, a->tries.error);
    a->asked = true;
    a->follows = a->resent = false;
}

/* The descriptors were closed when the first START had been answered. */
static bool prepare_again(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    const char *step = "launch";
    int r;

    if (a->args.launch || a->args.launch_fd >= 0)
        return true;
    r = launch_prepare(w->manager, w->job->spec, &key, true, &a->args, &step);
    if (r < 0)
        attempt_fail(a, step, -r);
    return r == 0;
}

/* Nothing was started, and nothing will be. */
static bool cancelled_before(struct work *w)
{
    struct attempt *a = w->attempt;

    if (a->resent || a->sent || !attempt_is_to_stop(w))
        return false;
    a->over = true;
    a->end =
        (struct job_event){.type = JOB_EV_EXITED,
                           .at_usec = jobs_now_usec(),
                           .result = JOB_RESULT_SUCCESS}; /* the verdict: cancelled */
    return true;
}

/* READY: a->call has been answered by a keeper. It names a START that none has had. */
static enum volt_poll heard_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    for (;;) {
        if (!a->calling) {
            a->start = UINT64_MAX;
            attempt_call_recall(w);
        }
        a->calling = true;
        if (keeper_call_poll(cx, &a->call) == VOLT_PENDING)
            return VOLT_PENDING;
        a->calling = false;
        if (keeper_call_status(&a->call) != -ECONNRESET)
            return VOLT_READY;
    }
}

/* READY: a->end is the end, or w->deferred. */
static enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    VOLT_BEGIN(a->at);
    /* What an earlier daemon asked for may still be carried out before HELLO. */
    if (a->adopt && keeper_link_is_late(w->manager->link))
        VOLT_AWAIT(a->at, heard_poll(cx, w));
    while (!a->over) {
        if (attempt_begin_rest(a))
            VOLT_AWAIT(a->at, attempt_rest_poll(cx, w));
        VOLT_AWAIT(a->at, ahead_poll(cx, w));
        if (w->deferred || (!a->adopt && (cancelled_before(w) || !prepare_again(w))))
            break;
        if (!a->adopt) {
            a->start_at = 0;
            VOLT_AWAIT(a->at, attempt_start_poll(cx, w));
            if (a->next == START_OVER)
                break;
            if (a->next != START_DONE)
                continue;
        }
        CRASH_POINT("start-answered");
        attempt_run_begin(w);
        VOLT_AWAIT(a->at, attempt_run_poll(cx, w));
        take_record(w);
        while (needs_call(w)) {
            VOLT_AWAIT(a->at, keeper_call_poll(cx, &a->call));
            if (call_settled(w))
                break;
            VOLT_AWAIT(a->at, rested_poll(cx, w));
        }
        CRASH_POINT("end-seen");
        judge_record(w);
        a->adopt = w->recorded = false;
    }
    VOLT_END(a->at);
}

static struct job_event *end_of(struct work *w, struct job_event *no_memory)
{
    *no_memory = (struct job_event){.type = JOB_EV_EXITED,
                                    .at_usec = jobs_now_usec(),
                                    .result = JOB_RESULT_EXEC_FAILED,
                                    .code = ENOMEM,
                                    .step = "launch"};
    return w->attempt ? &w->attempt->end : no_memory;
}

/* STARTING is in the store, or nothing may be started. */
static bool start_committed(struct work *w)
{
    int r = w->leaf.commit.status;

    CRASH_POINT("start-committed");
    if (r < 0 && w->attempt)
        attempt_fail(w->attempt, "store", -r);
    return r == 0 && w->attempt;
}

/* What of so many bytes is beyond the limit that has ended it, rounded up. */
static uint32_t over_kib(struct work *w, uint64_t bytes)
{
    uint64_t limit = w->job->spec->output_limit;
    struct aftermath after = {0};

    if (bytes <= limit)
        return 0;
    manager_lock(w->manager);
    bool ended = jobs_status(w->job, w->offset)->printed_too_much;
    manager_unlock(w->manager, &after);
    uint64_t kib = (bytes - limit + 1023) / 1024;
    return !ended ? 0 : kib < UINT32_MAX ? (uint32_t)kib : UINT32_MAX;
}

/* What it has printed goes into the store with its end, if it is little. A disk that is
 * full has room for ends only. */
static void look_at_output(struct work *w)
{
    struct manager *m = w->manager;
    const struct job_spec *spec = w->job->spec;
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    struct aftermath after = {0};
    struct store_health health;
    uint64_t fold = 0;

    if (!a || spec->output != JOB_OUTPUT_FILE)
        return;
    if (store_keeps_output(m->store)) {
        manager_lock(m);
        fold = m->config.fold_output;
        manager_unlock(m, &after);
        store_health(m->store, &health);
        if (health.full || health.failing)
            fold = 0;
    }
    a->printed.began =
        a->record.verdict == RECORD_DONE || a->record.verdict == RECORD_SHIM_KILLED;
    output_end_look(&m->outputs, &key, spec->output_split, fold, &a->printed);
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

/* The record of an attempt that is over goes. */
static void sweep_job(struct work *w)
{
    struct job_key key = attempt_key(w);

    sweep_add(w->manager, &key);
}

enum volt_poll work_exec_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event scratch;

    VOLT_BEGIN(w->at);
    for (;;) {
        VOLT_AWAIT(w->at, work_turn_poll(cx, w));
        if (!work_ended(w)) {
            if (!w->attempt) { /* one that was deferred has it still */
                const struct job_key key = attempt_key(w);
                work_prepare(w, &key);
            }
            VOLT_AWAIT(w->at, work_commit_poll(cx, w));
            if (start_committed(w)) {
                w->deferred = false;
                VOLT_AWAIT(w->at, attempt_poll(cx, w));
                if (w->deferred) { /* it keeps what it knows, and what is prepared */
                    w->attempt->at = 0;
                    continue;
                }
            }
        }
        look_at_output(w);
        VOLT_AWAIT(w->at, work_finish_poll(cx, w, end_of(w, &scratch)));
        give_up_output(w);
        /* Where the end could not be stored, the record tells it to the next daemon. */
        if (w->attempt && w->attempt->record.verdict != RECORD_ABSENT &&
            w->leaf.commit.status == 0)
            sweep_job(w);
        if (!w->again)
            break;
        work_begin_again(w);
    }
    VOLT_END(w->at);
}

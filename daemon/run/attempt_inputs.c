/* Inputs of an attempt: answers, its record, timers, its place and its stop. Only looks
 * for inputs that the phase waits for. */
#include "daemon/dispatch/dispatch.h"
#include "daemon/run/attempt.h"

#include <errno.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/observe/log.h"

#define PROBE_LAST UINT64_C(256000)

static const uint32_t of_record =
    1u << ON_OVER | 1u << ON_SHIM_KILLED | 1u << ON_NEVER_RAN | 1u << ON_ABSENT;

static enum attempt_input input_of(enum record_verdict verdict)
{
    switch (verdict) {
    case RECORD_ABSENT:
        return ON_ABSENT;
    case RECORD_NEVER_RAN:
        return ON_NEVER_RAN;
    case RECORD_SHIM_KILLED:
        return ON_SHIM_KILLED;
    case RECORD_RUNNING: /* no end */
    case RECORD_DONE:
    case RECORD_OTHER_BOOT:
    case RECORD_DAMAGED:
        break;
    }
    return ON_OVER;
}

/* Handles a record that is over. A start that was not seen comes first. */
static int take_record(struct work *w, uint32_t awaited)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    int r = record_wait_result(&a->wait, &a->record);

    if (r < 0) {
        log_error("record of job %llu: %s", (unsigned long long)key.id, strerror(-r));
        a->record = (struct record){.verdict = RECORD_DAMAGED};
    }
    if (a->record.has_started && attempt_awaits(awaited, ON_STARTED))
        return ON_STARTED;
    record_wait_fini(&a->wait);
    a->has_record = a->record.verdict != RECORD_ABSENT;
    CRASH_POINT("end-seen");
    return input_of(a->record.verdict);
}

/* Returns whether another attempt follows, when no process of this one is left. */
static bool is_to_go_again(struct work *w)
{
    const struct job_event lost = {.type = JOB_EV_EXITED, .result = JOB_RESULT_LOST};

    const struct job_status st = work_look(NULL, w);

    return job_goes_again(&st, &lost);
}

/* Notes for the end of the job at which step the start failed, and why. */
static void note_refusal(struct attempt *a, enum attempt_input in, const char *step,
                         int r)
{
    if (in != ON_SHORT && in != ON_EXISTS && in != ON_REFUSED)
        return;
    a->step = step;
    a->error = -r;
}

enum attempt_input attempt_refused(struct attempt *a, int r)
{
    const enum attempt_input in = attempt_answer(attempt_awaited_inputs(&a->state), r);

    note_refusal(a, in, "record", r);
    return in;
}

static int take_answer(struct work *w, uint32_t awaited)
{
    struct attempt *a = w->attempt;
    const int r = keeper_call_status(&a->call);
    const struct keeper_reply *reply = keeper_call_reply(&a->call);
    enum attempt_input in = attempt_answer(awaited, r);

    if (a->state.phase == ATTEMPT_STARTING) {
        CRASH_POINT("start-answered");
        note_refusal(a, in, r == -EBADMSG ? "launch" : "keeper", r);
    } else if (a->state.phase == ATTEMPT_CLEARING && in == ON_ANSWERED &&
               reply->survivors != 0 && reply->survivors != JOB_SURVIVORS_UNKNOWN &&
               is_to_go_again(w)) {
        in = ON_LEFT;
    }
    return in;
}

struct discarding {
    int dir_fd;
    struct job_key key;
    int r;
};

static void discard(void *arg)
{
    struct discarding *d = arg;

    d->r = record_discard(d->dir_fd, &d->key);
}

/* Removes the record of an attempt that never ran, if there is one. */
static int remove_record(struct volt_cx *cx, struct work *w, uint32_t awaited)
{
    struct attempt *a = w->attempt;
    struct discarding d = {.dir_fd = parts_of(w->core)->run->record_fd, .key = a->key};

    if (a->has_record)
        volt_block_in_place(cx, discard, &d);
    const enum attempt_input in = attempt_answer(awaited, d.r);
    if (in == ON_ANSWERED) {
        a->has_record = false;
        a->record.verdict = RECORD_ABSENT;
    } else {
        a->step = "record";
        a->error = -d.r;
    }
    return in;
}

/* Returns the input for an answer. Without a keeper, withdraws START of a job that must
 * stop. */
static int answer(struct volt_cx *cx, struct work *w, uint32_t awaited)
{
    struct keeper_call *call = &w->attempt->call;

    if (keeper_call_poll(cx, call) == VOLT_READY)
        return take_answer(w, awaited);
    if (attempt_awaits(awaited, ON_WITHDRAWN) && keeper_call_is_unsent(call) &&
        work_stop_poll(cx, w) == VOLT_READY && keeper_call_withdraw(call))
        return take_answer(w, awaited);
    return -1;
}

static bool is_due(struct volt_cx *cx, struct volt_sleep *s)
{
    return s->deadline_usec != 0 && work_time_poll(cx, s) == VOLT_READY;
}

struct probing {
    const struct core *core;
    struct job_key key;
    struct record_started *ret;
    int r;
};

static void probe(void *arg)
{
    struct probing *p = arg;

    p->r = record_started(parts_of(p->core)->run->record_fd, &p->key,
                          parts_of(p->core)->run->boot_id, p->ret);
}

static bool is_in_record(struct volt_cx *cx, struct work *w, struct record_started *ret)
{
    struct probing p = {.core = w->core, .key = attempt_key(w), .ret = ret};

    p.r = record_started_cached(parts_of(p.core)->run->record_fd, &p.key,
                                parts_of(p.core)->run->boot_id, ret);
    if (p.r == -EAGAIN)
        volt_block_in_place(cx, probe, &p);
    return p.r == 1;
}

/* Looks for slot 1 until it is valid. The job's process writes it right after its birth,
 * mostly before the wait for the end first reads the record. */
static bool has_started(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct record *rec = &a->record;
    bool found = record_wait_started(&a->wait, &rec->started);

    while (!found && is_due(cx, &a->probe)) {
        found = is_in_record(cx, w, &rec->started);
        volt_sleep_fini(&a->probe);
        volt_sleep_init(&a->probe, a->probe_usec);
        if (a->probe_usec < PROBE_LAST)
            a->probe_usec *= 2;
    }
    return found;
}

/* Returns a stop, pause or resume that another task has posted; -1: none. */
static int steering_input(struct volt_cx *cx, struct work *w, uint32_t awaited)
{
    const bool may_turn = attempt_awaits(awaited, ON_TURNED);
    const bool is_paused = w->attempt->state.phase == ATTEMPT_PAUSED;

    if (work_is_quiet(w))
        return -1;
    const struct job_status st = work_look(cx, w);
    if (st.state >= JOB_STOPPING)
        return ON_STOP;
    return may_turn && (st.state == JOB_PAUSED) != is_paused ? (int)ON_TURNED : -1;
}

static bool has_printed_too_much(struct volt_cx *cx, struct work *w)
{
    const struct job_spec *spec = w->job->spec;
    struct core *core = w->core;
    struct job_key key = attempt_key(w);

    if (spec->output != JOB_OUTPUT_FILE || spec->output_limit == JOB_NO_LIMIT)
        return false;
    return meter_poll(cx, &w->attempt->meter, parts_of(core)->run->meters,
                      parts_of(core)->outputs, &key, spec->output_split,
                      spec->output_limit) == VOLT_READY;
}

static bool defer(struct work *w)
{
    struct tx tx;

    core_begin(&tx, w->core);
    bool deferred = early_defer(&tx, w);
    dispatch_finish(&tx);
    return deferred;
}

/* Returns when the attempt has a slot. After EARLY_WAIT without one, or when the job is
 * held, queues it again. */
static int place(struct volt_cx *cx, struct work *w)
{
    bool tried = false;
    int found;

    while ((found = work_find_place(cx, w)) < 0 || found == ON_DEFERRED) {
        if (!w->early_until_usec)
            w->early_until_usec = volt_now_usec() + EARLY_WAIT;
        if (w->leaf_is_commit || !w->leaf.sleep.deadline_usec) {
            work_leaf_fini(w);
            volt_sleep_init_at(&w->leaf.sleep, w->early_until_usec);
        }
        if ((tried || found < 0) && volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
            return -1;
        w->early_until_usec = 0;
        work_leaf_fini(w);
        if (defer(w))
            return ON_DEFERRED;
        tried = true;
    }
    work_leaf_fini(w);
    return found;
}

/* Allows one call at a time: while one is under way, only its answer and the record are
 * looked for. */
int attempt_next_input(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    const uint32_t awaited = a->awaited;
    int in;

    if (awaited & of_record && record_wait_poll(cx, &a->wait) == VOLT_READY)
        return take_record(w, awaited);
    if (a->state.phase == ATTEMPT_REMOVING)
        return remove_record(cx, w, awaited);
    if (attempt_awaits(awaited, ON_RESET))
        return answer(cx, w, awaited);
    if (attempt_awaits(awaited, ON_SLOT))
        return place(cx, w);
    if (attempt_awaits(awaited, ON_PROBE) && is_due(cx, &a->probe))
        return ON_PROBE;
    if (attempt_awaits(awaited, ON_STARTED) && has_started(cx, w))
        return ON_STARTED;
    if (attempt_awaits(awaited, ON_DURABLE) &&
        store_commit_poll(cx, &a->durable) == VOLT_READY)
        return ON_DURABLE;
    if (attempt_awaits(awaited, ON_STOP) && (in = steering_input(cx, w, awaited)) >= 0)
        return in;
    if (attempt_awaits(awaited, ON_LIMIT) && is_due(cx, &a->limit))
        return ON_LIMIT;
    if (attempt_awaits(awaited, ON_PRINTED) && has_printed_too_much(cx, w))
        return ON_PRINTED;
    return -1;
}

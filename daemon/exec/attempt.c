/* One run of a process: from STARTING to the exact end in its record.
 *
 *   1. STARTING is committed, maybe before there is a slot (ahead.h).
 *   2. START goes to the keeper, maybe to begin after another job (relay.h). A broken
 *      connection proves nothing: the same START goes to the next keeper, whose "exists"
 *      means that the first one was carried out.
 *   3. The record tells the rest: STARTED with the pid, and the end. A record that says
 *      "never ran" is removed and started again.
 *      What counts as a failure then is in tries.h.
 *   4. A timeout or a cancel sends the stop signal, kill_after later SIGKILL, again every
 *      second until the record says that it is over.
 *   5. Who may print only so much is looked at once a second, and killed beyond.
 *   6. The end is committed (the next job's STARTING with it), applied, then the record is
 *      removed, with others (sweep.c).
 *
 * An end that is lost may lead to another attempt (job.h): in the slot that the job has,
 * with a record of its own.
 *
 * An attempt of an earlier daemon is adopted: it begins with 3. No record means that
 * START never came to the keeper, so it is started now, the same attempt; but not when it
 * was begun before a reboot or with another record directory: then it is lost, whatever
 * became of it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crash.h"
#include "daemon/exec/jobs.h"
#include "daemon/exec/launch.h"
#include "daemon/exec/tries.h"
#include "daemon/observe/log.h"

#define CALL_TRIES  10
#define CALL_AGAIN  UINT64_C(50000)
#define PROBE_FIRST UINT64_C(2000)
#define PROBE_LAST  UINT64_C(256000)
#define KILL_AGAIN  UINT64_C(1000000)
#define METER_EVERY UINT64_C(1000000)

struct attempt {
    int at;
    bool over; /* `end` says how */
    struct job_event end;
    struct keeper_start_args args;
    struct keeper_call call;
    bool calling;   /* `call` is on its way, in run_poll */
    bool sent;      /* `call` is the first START, on its way before the first poll */
    bool resent;    /* an earlier START may have been carried out */
    uint64_t start; /* serial of its latest START */
    bool follows;   /* that was taken to begin after another job */
    bool armed;     /* `wait` was, before it: nothing has happened that was no event */
    bool recalled;
    bool adopt;   /* the START of an earlier daemon may have been: look first */
    bool strange; /* adopted, and begun in another life: never to be started again */
    bool asked;   /* there was a START before this one */
    struct tries tries;
    unsigned call_tries; /* of what a record needs */
    struct record_wait wait;
    bool ended; /* wait is READY; `record` holds the end */
    bool noted; /* STARTED has been applied */
    struct record record;
    struct output_end printed;
    struct volt_sleep probe, limit; /* next look for slot 1; next step towards the end, or
                                       the end of following */
    struct volt_sleep meter;        /* next look at what it has printed */
    uint64_t probe_usec;
    int last_signal; /* 0: none sent yet */
    uint32_t survivors;
};

void attempt_free(struct attempt *a)
{
    if (!a)
        return;
    keeper_call_fini(&a->call);
    record_wait_fini(&a->wait);
    volt_sleep_fini(&a->probe);
    volt_sleep_fini(&a->limit);
    volt_sleep_fini(&a->meter);
    launch_close(&a->args);
    output_end_finish(NULL, NULL, &a->printed, false);
    free(a);
}

/* The end in words of policy: it did not come to a process. */
static void fail(struct attempt *a, const char *step, int error)
{
    a->over = true;
    a->end = (struct job_event){.type = JOB_EV_EXITED,
                                .at_usec = jobs_now_usec(),
                                .result = JOB_RESULT_EXEC_FAILED,
                                .code = error,
                                .step = step};
}

static struct job_key key_of(struct work *w)
{
    return jobs_key(w->job, w->offset);
}

static bool stopping(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    manager_unlock(w->manager, &after);
    return yes;
}

static bool other_life(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = jobs_status(w->job, w->offset)->other_life;
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
        a->strange = other_life(w);
        return;
    }
    int r = launch_prepare(w->manager, w->job->spec, key,
                           w->job->recovered || key->attempt > 1, &a->args, &step);
    if (r < 0)
        fail(a, step, -r);
}

static bool transient(int r)
{
    return r == -EAGAIN || r == -ENOMEM || r == -ENOSPC || r == -ENFILE || r == -EMFILE ||
           r == -ENOBUFS || r == -ETOOMANYREFS;
}

enum after_start {
    START_DONE,
    START_AGAIN,     /* after a rest, if there is to be one */
    START_ELSEWHERE, /* nothing begins after that job any more */
    START_UNKNOWN,   /* its shim may have it */
    START_OVER,
};

static enum after_start judge_start(struct attempt *a)
{
    int r = keeper_call_status(&a->call);

    a->armed &= r == 0;
    a->start = keeper_call_serial(&a->call);
    keeper_call_fini(&a->call);
    if (r == -ECANCELED) /* withdrawn: it is to stop */
        return START_AGAIN;
    if (r == 0 || (r == -EEXIST && a->asked)) /* left by an earlier START */
        return START_DONE;
    a->asked = true;
    if (r == -ESRCH && a->args.after > 0)
        return START_ELSEWHERE;
    if (r == -ECONNRESET) {
        a->resent = true;
        tries_lost(&a->tries);
        return a->args.after > 0 ? START_UNKNOWN : START_AGAIN;
    }
    tries_refused(&a->tries,
                  r == -EBADMSG  ? "launch"
                  : r == -EEXIST ? "record"
                                 : "keeper",
                  -r, transient(r));
    if (!tries_are_over(&a->tries))
        return START_AGAIN;
    if (a->resent) /* one of the STARTs may have worked: only the record knows */
        return START_DONE;
    fail(a, a->tries.refuser, a->tries.error);
    return START_OVER;
}

/* False: there is none. */
static bool begin_rest(struct attempt *a)
{
    uint64_t usec = tries_rest(&a->tries);

    volt_sleep_fini(&a->limit);
    if (usec > 0)
        volt_sleep_init(&a->limit, usec);
    return usec > 0;
}

static enum volt_poll rest_poll(struct volt_cx *cx, struct work *w)
{
    if (work_stop_poll(cx, w) == VOLT_READY)
        return VOLT_READY;
    return volt_sleep_poll(cx, &w->attempt->limit);
}

/* READY: START is answered, or withdrawn: while there is no keeper who is to stop does
 * not wait for one. */
static enum volt_poll start_poll(struct volt_cx *cx, struct work *w)
{
    struct keeper_call *call = &w->attempt->call;

    if (keeper_call_poll(cx, call) == VOLT_READY)
        return VOLT_READY;
    if (keeper_call_is_unsent(call) && work_stop_poll(cx, w) == VOLT_READY &&
        keeper_call_withdraw(call))
        return VOLT_READY;
    return VOLT_PENDING;
}

/* Its time runs since its record says so, whenever its START was answered. */
static void limit_from_start(struct work *w, const struct record_started *s)
{
    struct attempt *a = w->attempt;
    uint64_t timeout = w->job->spec->timeout_usec;

    if (!timeout || a->last_signal)
        return;
    volt_sleep_fini(&a->limit);
    volt_sleep_init_at(&a->limit, s->mono_usec + timeout);
}

/* Called back too late, it runs: then it has a slot, be there one or not. Returns whether
 * its start is known already. */
static bool take_slot(struct work *w)
{
    struct aftermath after;

    aftermath_init(&after);
    manager_lock(w->manager);
    if (w->ahead && !w->relay.before)
        ahead_grant(w->manager, w);
    bool known = jobs_status(w->job, w->offset)->started_usec != 0;
    manager_unlock(w->manager, &after);
    return known;
}

static void note_started(struct work *w, const struct record_started *s)
{
    struct job_event ev = {.type = JOB_EV_STARTED,
                           .at_usec = s->real_usec,
                           .attempt = key_of(w).attempt,
                           .pid = (int32_t)s->pid};

    CRASH_POINT("started-seen");
    w->attempt->noted = true;
    limit_from_start(w, s);
    if (!take_slot(w))
        work_apply(w, &ev);
}

/* Looks for slot 1 until it is there: the job's process writes it right after its birth,
 * mostly before the wait for the end has looked for the first time. Who follows is not
 * looked for before it would be called back: it has mostly ended by then. */
static void look_for_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);
    struct record rec;
    bool found = record_wait_started(&a->wait, &rec.started);

    while (!found && volt_sleep_poll(cx, &a->probe) == VOLT_READY) {
        found =
            record_probe(w->manager->record_fd, &key, w->manager->boot_id, &rec) == 0 &&
            rec.has_started;
        volt_sleep_fini(&a->probe);
        volt_sleep_init(&a->probe, a->probe_usec);
        if (a->probe_usec < PROBE_LAST)
            a->probe_usec *= 2;
    }
    if (!found)
        return;
    note_started(w, &rec.started);
    volt_sleep_fini(&a->probe);
}

/* a->last_signal goes to the job. */
static void call_signal(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);
    enum keeper_scope scope =
        w->job->spec->kill_mode == JOB_KILL_MAIN ? KEEPER_SCOPE_MAIN : KEEPER_SCOPE_TREE;

    keeper_call_fini(&a->call);
    keeper_call_init_signal(&a->call, w->manager->link, &key, a->last_signal, scope);
    a->calling = true;
    CRASH_POINT("signal");
}

static void send_signal(struct work *w, int sig)
{
    struct attempt *a = w->attempt;
    const struct job_spec *spec = w->job->spec;

    volt_sleep_fini(&a->limit);
    volt_sleep_init(&a->limit, a->last_signal || sig == SIGKILL ? KILL_AGAIN
                                                                : spec->kill_after_usec);
    a->last_signal = sig;
    call_signal(w);
}

static bool is_metered(struct work *w)
{
    const struct job_spec *spec = w->job->spec;

    return spec->output == JOB_OUTPUT_FILE && spec->output_limit != JOB_NO_LIMIT;
}

/* All jobs are looked at together: at full seconds. */
static void set_meter(struct attempt *a)
{
    volt_sleep_fini(&a->meter);
    volt_sleep_init_at(&a->meter, (volt_now_usec() / METER_EVERY + 1) * METER_EVERY);
}

static bool printed_too_much(struct volt_cx *cx, struct work *w)
{
    struct job_key key = key_of(w);

    while (is_metered(w) && volt_sleep_poll(cx, &w->attempt->meter) == VOLT_READY) {
        if (output_size(&w->manager->outputs, &key) > w->job->spec->output_limit)
            return true;
        set_meter(w->attempt);
    }
    return false;
}

/* Steps towards the end that are due: the timeout, the stop signal, SIGKILL. False: none
 * now. */
static bool step_to_the_end(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    const struct job_spec *spec = w->job->spec;
    bool stop = work_stop_poll(cx, w) == VOLT_READY;
    bool timed = a->noted && (a->last_signal || spec->timeout_usec);
    bool due = timed && work_time_poll(cx, &a->limit) == VOLT_READY;

    if (!a->noted)
        return false; /* there is no process to signal yet */
    if (!stop && due) {
        struct job_event ev = {.type = JOB_EV_TIMEOUT, .at_usec = jobs_now_usec()};
        work_apply(w, &ev);
        stop = true;
    }
    if (!stop && printed_too_much(cx, w)) { /* no time to print more */
        struct job_event ev = {.type = JOB_EV_OUTPUT_LIMIT, .at_usec = jobs_now_usec()};
        work_apply(w, &ev);
        send_signal(w, SIGKILL);
        return true;
    }
    if (stop && !a->last_signal) {
        send_signal(w, spec->stop_signal);
        return true;
    }
    if (stop && due) {
        send_signal(w, SIGKILL);
        return true;
    }
    return false;
}

/* Also without being told: who it was to follow has gone while its START was on its way. */
static bool is_called_back(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = w->relay.called_back || (!w->granted && !w->relay.before);
    manager_unlock(w->manager, &after);
    return yes;
}

static void call_recall(struct work *w)
{
    struct attempt *a = w->attempt;

    keeper_call_fini(&a->call);
    keeper_call_init_recall(&a->call, w->manager->link, a->start);
}

/* One that waits for the end of another comes back to its slot, to its cancel, or because
 * it has waited for too long. The answer says nothing: the record does. */
static bool recall(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    if (!a->follows || a->noted || a->recalled ||
        (volt_sleep_poll(cx, &a->limit) == VOLT_PENDING && !is_called_back(w) &&
         work_stop_poll(cx, w) == VOLT_PENDING))
        return false;
    call_recall(w);
    a->calling = a->recalled = true;
    return true;
}

/* READY: the record says that it is over. */
static enum volt_poll run_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;

    for (;;) {
        if (!a->ended && record_wait_poll(cx, &a->wait) == VOLT_READY)
            a->ended = true;
        if (a->ended)
            return VOLT_READY;
        if (a->calling) {
            if (keeper_call_poll(cx, &a->call) == VOLT_PENDING)
                return VOLT_PENDING;
            a->calling = false;
            a->survivors = keeper_call_reply(&a->call)->survivors;
            if (keeper_call_status(&a->call) == -ECONNRESET && a->last_signal) {
                call_signal(w); /* nobody knows whether it was sent */
                continue;
            }
            keeper_call_fini(&a->call);
        }
        if (!a->noted)
            look_for_start(cx, w);
        if (!recall(cx, w) && !step_to_the_end(cx, w))
            return VOLT_PENDING;
    }
}

static void run_begin(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);

    launch_close(&a->args);
    a->ended = a->calling = false;
    a->probe_usec = a->follows ? RELAY_WAIT : PROBE_FIRST;
    volt_sleep_fini(&a->probe);
    volt_sleep_init(&a->probe, a->probe_usec);
    if (!a->armed) {
        record_wait_fini(&a->wait);
        record_wait_init(&a->wait, w->manager->watch, &key);
    }
    volt_sleep_fini(&a->limit);
    if (a->follows)
        volt_sleep_init(&a->limit, RELAY_WAIT);
    set_meter(a);
}

static void end_of_record(struct work *w)
{
    struct attempt *a = w->attempt;
    const struct record *rec = &a->record;

    if (rec->has_started && !a->noted)
        note_started(w, &rec->started);
    a->over = true;
    a->end = launch_end_event(rec);
    if (rec->verdict != RECORD_DONE) /* its shim knows best, and has said so at the end */
        a->end.survivors = a->survivors;
}

static void take_record(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);

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
    struct job_key key = key_of(w);

    keeper_call_fini(&a->call);
    if (a->record.verdict == RECORD_SHIM_KILLED)
        keeper_call_init_signal(&a->call, w->manager->link, &key, SIGKILL,
                                KEEPER_SCOPE_TREE);
    else if (a->record.verdict == RECORD_NEVER_RAN)
        keeper_call_init_remove(&a->call, w->manager->link, &key);
    else
        return false;
    return true;
}

/* Whether it has been done or cannot be; otherwise it is asked for again: a broken
 * connection says nothing, and both requests may be repeated. */
static bool call_settled(struct attempt *a)
{
    int r = keeper_call_status(&a->call);

    if (r == -ECONNRESET || (transient(r) && ++a->call_tries < CALL_TRIES)) {
        volt_sleep_fini(&a->limit);
        volt_sleep_init(&a->limit, CALL_AGAIN);
        return false;
    }
    a->survivors = keeper_call_reply(&a->call)->survivors;
    if (r < 0 && a->record.verdict == RECORD_NEVER_RAN)
        fail(a, "record", -r);
    else if (r < 0 && r != -ESRCH && !a->survivors)
        a->survivors = 1; /* nobody could look: its main process at least may live on */
    return true;
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

    never_ran &= !a->strange;

    if (!never_ran) {
        end_of_record(w);
        return;
    }
    a->record.verdict = RECORD_ABSENT; /* removed: nobody is to remove it once more */
    leave_relay(w);
    if (!a->follows && !a->resent && !a->adopt)
        tries_in_vain(&a->tries);
    if (tries_are_over(&a->tries))
        fail(a, a->tries.refuser, a->tries.error);
    a->asked = true;
    a->follows = a->resent = false;
}

/* The descriptors were closed when the first START had been answered. */
static bool prepare_again(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);
    const char *step = "launch";
    int r;

    if (a->args.launch || a->args.launch_fd >= 0)
        return true;
    r = launch_prepare(w->manager, w->job->spec, &key, true, &a->args, &step);
    if (r < 0)
        fail(a, step, -r);
    return r == 0;
}

/* Nothing was started, and nothing will be. */
static bool cancelled_before(struct work *w)
{
    struct attempt *a = w->attempt;

    if (a->resent || a->sent || !stopping(w))
        return false;
    a->over = true;
    a->end =
        (struct job_event){.type = JOB_EV_EXITED,
                           .at_usec = jobs_now_usec(),
                           .result = JOB_RESULT_SUCCESS}; /* the verdict: cancelled */
    return true;
}

/* It may have been started, and is to stop: it is not started again to learn that. */
static bool is_to_be_sought(struct work *w)
{
    return w->attempt->resent && stopping(w);
}

/* Whether it has a slot or somebody to follow, still. Who is to stop and has been sent
 * goes on whatever it has. */
static bool take_place(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool follows = !w->granted && w->relay.before;
    bool placed =
        w->granted || follows || jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    w->attempt->args.after = follows ? w->relay.after : 0;
    manager_unlock(w->manager, &after);
    return placed;
}

/* One that follows runs later, and its record need not be looked at before it ends. */
static void call_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);

    a->armed = a->args.after > 0;
    record_wait_fini(&a->wait);
    record_wait_init(&a->wait, w->manager->watch, &key);
    if (a->armed)
        record_wait_arm(cx, &a->wait);
    if (!a->sent)
        keeper_call_init_start(&a->call, w->manager->link, &key, &a->args);
    a->sent = false;
}

void work_send_start(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);

    if (!a || a->over)
        return;
    keeper_call_init_start(&a->call, w->manager->link, &key, &a->args);
    keeper_call_send(&a->call);
    a->sent = true;
}

/* The START was taken, or is to find another place. */
static void note_place(struct work *w, enum after_start next)
{
    struct attempt *a = w->attempt;
    struct aftermath after = {0};

    a->follows = next == START_DONE && a->args.after > 0;
    a->recalled = false;
    manager_lock(w->manager);
    if (next == START_DONE && !a->tries.alone)
        relay_enter(w->manager, w, a->start, &after);
    else if (next == START_ELSEWHERE)
        relay_part(w->manager, w);
    manager_unlock(w->manager, &after);
}

/* READY: a->end is the end, or w->deferred. */
static enum volt_poll attempt_poll(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    enum after_start next;

    VOLT_BEGIN(a->at);
    while (!a->over) {
        if (begin_rest(a))
            VOLT_AWAIT(a->at, rest_poll(cx, w));
        VOLT_AWAIT(a->at, ahead_poll(cx, w));
        if (w->deferred || (!a->adopt && (cancelled_before(w) || !prepare_again(w))))
            break;
        if (!a->adopt) {
            next = START_UNKNOWN;
            if (!is_to_be_sought(w)) {
                if (!take_place(w))
                    continue;
                call_start(cx, w);
                VOLT_AWAIT(a->at, start_poll(cx, w));
                next = judge_start(a);
            }
            if (next == START_UNKNOWN) { /* the record knows, once a keeper answers */
                do {
                    call_recall(w);
                    VOLT_AWAIT(a->at, keeper_call_poll(cx, &a->call));
                } while (keeper_call_status(&a->call) == -ECONNRESET);
                next = START_DONE;
            }
            note_place(w, next);
            if (next == START_OVER)
                break;
            if (next == START_ELSEWHERE || next == START_AGAIN)
                continue;
        }
        CRASH_POINT("start-answered");
        run_begin(w);
        VOLT_AWAIT(a->at, run_poll(cx, w));
        take_record(w);
        while (needs_call(w)) {
            VOLT_AWAIT(a->at, keeper_call_poll(cx, &a->call));
            if (call_settled(a))
                break;
            VOLT_AWAIT(a->at, volt_sleep_poll(cx, &a->limit));
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
        fail(w->attempt, "store", -r);
    return r == 0 && w->attempt;
}

/* What it has printed goes into the store with its end, if it is little. A disk that is
 * full has room for ends only. */
static void look_at_output(struct work *w)
{
    struct manager *m = w->manager;
    const struct job_spec *spec = w->job->spec;
    struct attempt *a = w->attempt;
    struct job_key key = key_of(w);
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
}

static void give_up_output(struct work *w)
{
    struct job_key key = key_of(w);

    if (w->printed)
        output_end_finish(&w->manager->outputs, &key, w->printed,
                          !w->again && w->leaf.commit.status == 0);
    w->printed = NULL;
}

/* The record of an attempt that is over goes. */
static void sweep_job(struct work *w)
{
    struct job_key key = key_of(w);

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
                const struct job_key key = key_of(w);
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

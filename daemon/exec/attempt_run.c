/* An attempt that has been started, until its record says that it is over. The whole of
 * it is in attempt.c. */
#include "daemon/exec/attempt.h"

#include <errno.h>
#include <signal.h>

#include "base/crash.h"
#include "daemon/exec/launch.h"

#define PROBE_FIRST  UINT64_C(2000)
#define PROBE_LAST   UINT64_C(256000)
#define SIGNAL_AGAIN UINT64_C(50000)

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

void attempt_note_started(struct work *w, const struct record_started *s)
{
    struct job_event ev = {.type = JOB_EV_STARTED,
                           .at_usec = s->real_usec,
                           .attempt = attempt_key(w).attempt,
                           .pid = (int32_t)s->pid};

    CRASH_POINT("started-seen");
    w->attempt->noted = true;
    limit_from_start(w, s);
    if (!take_slot(w))
        work_apply(w, &ev);
}

/* Looks for slot 1 until it is there: the job's process writes it right after its birth,
 * mostly before the wait for the end has looked for the first time. A job that
 * follows another is not looked for before its recall: it has mostly ended by then. */
static void look_for_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    struct record_started started;
    bool found = record_wait_started(&a->wait, &started);

    while (!found && volt_sleep_poll(cx, &a->probe) == VOLT_READY) {
        found = record_started(w->manager->record_fd, &key, w->manager->boot_id,
                               &started) == 1;
        volt_sleep_fini(&a->probe);
        volt_sleep_init(&a->probe, a->probe_usec);
        if (a->probe_usec < PROBE_LAST)
            a->probe_usec *= 2;
    }
    if (!found)
        return;
    attempt_note_started(w, &started);
    volt_sleep_fini(&a->probe);
}

/* a->last_signal goes to the job. */
static void call_signal(struct work *w)
{
    struct attempt *a = w->attempt;
    enum keeper_scope scope =
        w->job->spec->kill_mode == JOB_KILL_MAIN ? KEEPER_SCOPE_MAIN : KEEPER_SCOPE_TREE;

    if (a->last_signal != SIGKILL) /* a stopped job takes it only when it is continued */
        scope |= KEEPER_SCOPE_WAKE;
    attempt_call_signal(w, a->last_signal, scope);
    a->calling = true;
    a->unsent = false;
    CRASH_POINT("signal");
}

/* Whether the answer leaves a signal to be sent once more: at once where nobody knows
 * whether it was, after a moment where the keeper had no process to send it with. */
static bool is_to_signal_again(struct attempt *a)
{
    int r = keeper_call_status(&a->call);

    a->unsent = a->last_signal && tries_passing(r);
    if (a->unsent) {
        volt_sleep_fini(&a->probe);
        volt_sleep_init(&a->probe, SIGNAL_AGAIN);
    }
    return a->last_signal && r == -ECONNRESET;
}

/* An answer that tells what SIGKILL has left: the next is due the later, the longer that
 * has been in vain. */
static void note_killed(struct work *w)
{
    struct attempt *a = w->attempt;
    int r = keeper_call_status(&a->call);

    if (a->last_signal != SIGKILL || r == -ECONNRESET || tries_passing(r))
        return;
    attempt_note_left(w);
    volt_sleep_fini(&a->limit);
    volt_sleep_init(&a->limit, tries_kill_rest(a->kills - 1));
}

static void send_signal(struct work *w, int sig)
{
    struct attempt *a = w->attempt;
    const struct job_spec *spec = w->job->spec;

    volt_sleep_fini(&a->limit);
    volt_sleep_init(&a->limit, a->last_signal || sig == SIGKILL
                                   ? tries_kill_rest(a->kills)
                                   : spec->kill_after_usec);
    a->last_signal = sig;
    call_signal(w);
}

static bool printed_too_much(struct volt_cx *cx, struct work *w)
{
    const struct job_spec *spec = w->job->spec;
    struct manager *m = w->manager;
    struct job_key key = attempt_key(w);

    if (spec->output != JOB_OUTPUT_FILE || spec->output_limit == JOB_NO_LIMIT)
        return false;
    return meter_poll(cx, &w->attempt->meter, m->meters, &m->outputs, &key,
                      spec->output_split, spec->output_limit) == VOLT_READY;
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

/* Also without being told: the job it was to follow ended while its START was on its
 * way. */
static bool is_called_back(struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    bool yes = w->relay.called_back || (!w->granted && !w->relay.before);
    manager_unlock(w->manager, &after);
    return yes;
}

void attempt_call_recall(struct work *w)
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
    attempt_call_recall(w);
    a->calling = a->recalled = true;
    return true;
}

/* READY: the record says that it is over. */
enum volt_poll attempt_run_poll(struct volt_cx *cx, struct work *w)
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
            note_killed(w);
            if (is_to_signal_again(a)) {
                call_signal(w);
                continue;
            }
            bool over = keeper_call_status(&a->call) == -ESRCH;
            keeper_call_fini(&a->call);
            if (over) { /* the keeper has seen what was no event, or will be one */
                record_wait_look(&a->wait);
                continue;
            }
        }
        if (a->unsent && volt_sleep_poll(cx, &a->probe) == VOLT_READY) {
            call_signal(w);
            continue;
        }
        if (!a->noted)
            look_for_start(cx, w);
        if (!recall(cx, w) && !step_to_the_end(cx, w))
            return VOLT_PENDING;
    }
}

void attempt_run_begin(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    launch_close(&a->args);
    a->ended = a->calling = a->unsent = false;
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
    meter_fini(&a->meter);
}

/* What the table of the attempt says is to be done, done. */
#include "daemon/exec/attempt.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/launch.h"
#include "daemon/exec/post.h"

#define PROBE_FIRST  UINT64_C(2000)
#define SIGNAL_AGAIN UINT64_C(50000)
#define CALL_AGAIN   UINT64_C(50000)

/* --- its place among other jobs --------------------------------------------------- */

static void leave_relay(struct work *w)
{
    struct tx tx;

    core_begin(&tx, w->manager);
    relay_void(w->manager, w);
    core_finish(&tx);
}

static void part(struct work *w)
{
    struct tx tx;

    core_begin(&tx, w->manager);
    relay_part(w->manager, w);
    core_finish(&tx);
}

static void join_relay(struct work *w)
{
    struct tx tx;

    if (tries_are_alone(&w->attempt->state.tries))
        return;
    core_begin(&tx, w->manager);
    relay_enter(w->manager, w, w->attempt->start, &tx);
    core_finish(&tx);
}

/* --- calls ------------------------------------------------------------------------ */

/* False: `step` and `error` say what it lacks. What was closed after an earlier START is
 * made again; its output may be there. */
static bool prepare(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    if (a->args.launch || a->args.launch_fd >= 0)
        return true;
    int r = launch_prepare(cx, w->manager, w->job->spec, &key, true, &a->args, &a->step);
    a->error = -r;
    return r == 0;
}

/* One that follows another runs later, and its record need not be looked at before it
 * ends: the wait is armed before START, so that an end from then on is an event. */
static void call_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    record_wait_fini(&a->wait);
    if (a->state.phase == ATTEMPT_CHAINING) {
        record_wait_init(&a->wait, w->manager->watch, &key);
        record_wait_arm(cx, &a->wait);
    } else {
        a->args.after = 0;
    }
    keeper_call_fini(&a->call);
    keeper_call_init_start(&a->call, w->manager->link, &key, &a->args);
}

static void call_recall(struct work *w)
{
    struct attempt *a = w->attempt;

    keeper_call_fini(&a->call);
    keeper_call_init_recall(&a->call, w->manager->link, a->start);
}

static void call_remove(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    keeper_call_fini(&a->call);
    keeper_call_init_remove(&a->call, w->manager->link, &key);
}

/* SIGKILL to what one has left waits behind the first of others. */
static void call_signal(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    const struct job_spec *spec = w->job->spec;
    enum keeper_scope scope =
        spec->kill_mode == JOB_KILL_MAIN ? KEEPER_SCOPE_MAIN : KEEPER_SCOPE_TREE;
    int sig = SIGKILL;

    if (a->state.phase == ATTEMPT_CLEARING)
        scope = KEEPER_SCOPE_TREE;
    if (a->state.phase == ATTEMPT_ASKING)
        sig = spec->stop_signal;
    if (sig != SIGKILL) /* a stopped job takes it only when it is continued */
        scope |= KEEPER_SCOPE_WAKE;
    keeper_call_fini(&a->call);
    keeper_call_init_signal(&a->call, w->manager->link, &key, sig, scope);
    if (a->state.kills > 0)
        keeper_call_is_again(&a->call);
    CRASH_POINT("signal");
}

/* --- its record ------------------------------------------------------------------- */

static void look(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    if (a->wait.watch)
        record_wait_look(&a->wait);
    else
        record_wait_init(&a->wait, w->manager->watch, &key);
}

/* --- timers ----------------------------------------------------------------------- */

static uint64_t limit_of(struct work *w)
{
    struct attempt_state *s = &w->attempt->state;

    switch ((enum attempt_phase)s->phase) {
    case ATTEMPT_RESTING:
        return tries_rest(&s->tries);
    case ATTEMPT_CHAINED:
        return RELAY_WAIT;
    case ATTEMPT_ASKING:
        return w->job->spec->kill_after_usec;
    case ATTEMPT_KILLING:
        return tries_kill_rest(s->kills);
    case ATTEMPT_KILLED: /* the later, the longer that has been in vain */
    case ATTEMPT_LEFT:
        return tries_kill_rest(s->kills - 1);
    default:
        return CALL_AGAIN;
    }
}

static void arm_limit(struct work *w)
{
    struct attempt *a = w->attempt;

    volt_sleep_fini(&a->limit);
    volt_sleep_init(&a->limit, limit_of(w));
}

static void arm_probe(struct attempt *a)
{
    switch ((enum attempt_phase)a->state.phase) {
    case ATTEMPT_TAKEN:
        a->probe_usec = PROBE_FIRST;
        break;
    case ATTEMPT_CHAINED:
        a->probe_usec = RELAY_WAIT;
        break;
    case ATTEMPT_UNPOSTED:
        a->probe_usec = POST_AGAIN;
        break;
    default:
        a->probe_usec = SIGNAL_AGAIN;
        break;
    }
    volt_sleep_fini(&a->probe);
    volt_sleep_init(&a->probe, a->probe_usec);
}

/* Its time runs since its record says so, whenever its START was answered. */
static void limit_from_start(struct work *w, const struct record_started *s)
{
    struct attempt *a = w->attempt;
    uint64_t timeout = w->job->spec->timeout_usec;

    attempt_disarm(&a->limit);
    if (timeout)
        volt_sleep_init_at(&a->limit, s->mono_usec + timeout);
}

/* --- events ----------------------------------------------------------------------- */

/* The recall came too late and the job runs: it occupies a slot, even above the limit.
 * Returns whether its start is known already. */
static bool take_slot(struct work *w)
{
    manager_lock(w->manager);
    if (w->ahead && !w->relay.before)
        ahead_grant(w->manager, w);
    bool known = jobs_status(w->job, w->offset)->started_usec != 0;
    manager_unlock(w->manager);
    return known;
}

static void post_started(struct work *w)
{
    const struct record_started *s = &w->attempt->record.started;
    struct job_event ev = {.type = JOB_EV_STARTED,
                           .at_usec = s->real_usec,
                           .attempt = attempt_key(w).attempt,
                           .pid = (int32_t)s->pid};

    CRASH_POINT("started-seen");
    volt_sleep_fini(&w->attempt->probe);
    limit_from_start(w, s);
    if (!take_slot(w))
        (void)work_post(w, &ev); /* is owed: nothing refuses it */
}

/* False: there was no memory. A cancel that came first is no failure. */
static bool post_stop(struct work *w, uint32_t todo)
{
    if (!(todo & (DO_POST_TIMEOUT | DO_POST_OUTPUT_LIMIT)))
        return true;
    const struct job_event ev = {.type = todo & DO_POST_TIMEOUT ? JOB_EV_TIMEOUT
                                                                : JOB_EV_OUTPUT_LIMIT,
                                 .at_usec = jobs_now_usec()};
    return work_post(w, &ev) != -ENOMEM;
}

/* What SIGKILL has left is shown from now on. */
static void note_left(struct work *w)
{
    struct attempt *a = w->attempt;
    const struct keeper_reply *reply = keeper_call_reply(&a->call);
    const int r = reply->status;

    manager_lock(w->manager);
    a->left.n = reply->survivors;
    if (r < 0 && r != -ESRCH && !a->left.n) /* nobody could look */
        a->left.n = JOB_SURVIVORS_UNKNOWN;
    memcpy(a->left.named.pid, reply->survivor, sizeof(a->left.named.pid));
    w->left = a->left.n ? &a->left : NULL;
    manager_unlock(w->manager);
}

/* The end in words of policy. */
static struct job_event end_of(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_event end = {.type = JOB_EV_EXITED, .at_usec = jobs_now_usec()};

    switch ((enum attempt_end)a->state.end) {
    case ATTEMPT_RECORDED:
    case ATTEMPT_MISSING:
        end = launch_end_event(&a->record);
        if (a->record.verdict != RECORD_DONE) /* else its shim knows best */
            launch_end_survivors(&end, &a->left);
        end.named = interned_named(&w->manager->interned, end.named);
        return end;
    case ATTEMPT_CANCELLED:
        end.result = JOB_RESULT_SUCCESS; /* the verdict: cancelled */
        return end;
    case ATTEMPT_FAILED:
    case ATTEMPT_STUCK:
    case ATTEMPT_NOT_OVER:
        break;
    }
    end.result = JOB_RESULT_EXEC_FAILED;
    end.code = a->error;
    end.step = a->step;
    if (a->error == ENOENT)
        record_watch_check(w->manager->watch);
    return end;
}

/* --- all of them ------------------------------------------------------------------ */

static void carry_out(struct volt_cx *cx, struct work *w, enum attempt_action action)
{
    struct attempt *a = w->attempt;

    switch (action) {
    case DO_VOID:
        leave_relay(w);
        break;
    case DO_PART:
        part(w);
        break;
    case DO_PREPARE: /* attempt_take() does what can fail */
    case DO_POST_TIMEOUT:
    case DO_POST_OUTPUT_LIMIT:
        break;
    case DO_START:
        call_start(cx, w);
        break;
    case DO_RELAY:
        join_relay(w);
        break;
    case DO_CLOSE:
        launch_close(&a->args);
        break;
    case DO_RECALL:
        call_recall(w);
        break;
    case DO_POST_STARTED:
        post_started(w);
        break;
    case DO_NOTE_LEFT:
        note_left(w);
        break;
    case DO_LIMIT:
        arm_limit(w);
        break;
    case DO_SIGNAL:
        call_signal(w);
        break;
    case DO_PROBE:
        arm_probe(a);
        break;
    case DO_REMOVE:
        call_remove(w);
        break;
    case DO_LOOK:
        look(w);
        break;
    case DO_POST_EXITED: /* work_exec_poll() commits it */
        a->end = end_of(w);
        break;
    case DO_REMOVE_LATER: {
        struct job_key key = attempt_key(w);
        (void)sweep_add(w->manager, &key); /* otherwise the next voltd does it */
        break;
    }
    case DO_BLAME:
        a->step = "shim";
        a->error = EAGAIN;
        break;
    }
}

/* Nothing comes that the phase does not wait for. */
static void step(struct attempt_state *s, enum attempt_input in, uint32_t *ret_todo)
{
    bool heard = attempt_step(s, in, ret_todo);

    assert(heard);
    (void)heard;
}

void attempt_take(struct volt_cx *cx, struct work *w, enum attempt_input in)
{
    struct attempt_state *s = &w->attempt->state;
    uint32_t todo;

    step(s, in, &todo);
    if (todo & DO_PREPARE && !prepare(cx, w))
        step(s, ON_UNREADY, &todo);
    if (!post_stop(w, todo))
        step(s, ON_UNPOSTED, &todo);
    w->attempt->hears = attempt_hears(s);
    for (; todo != 0; todo &= todo - 1)
        carry_out(cx, w, (enum attempt_action)(todo & -todo));
}

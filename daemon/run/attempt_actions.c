/* Carries out the actions of the attempt's table. */
#include "daemon/dispatch/dispatch.h"
#include "daemon/run/attempt.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/run/attempt_record.h"
#include "daemon/run/hook.h"
#include "daemon/run/record_end.h"
#include "daemon/run/survivors.h"
#include "daemon/core/post.h"
#include "daemon/job/retry.h"
#include "daemon/core/interned.h"

#define PROBE_FIRST  UINT64_C(2000)
#define SIGNAL_AGAIN UINT64_C(50000)
#define CALL_AGAIN   UINT64_C(50000)

static void ask_anew(struct work *w)
{
    struct tx tx;

    if (!w->assumed)
        return;
    core_begin(&tx, w->core);
    grant_ask_anew(w->core, w);
    dispatch_finish(&tx);
}

/* --- calls ------------------------------------------------------------------------ */

/* Prepares what START needs. Makes again what was closed after an earlier START; the
 * output may exist. Returns -1; or the input that follows instead of START, with `step`
 * and `error` for the reason. */
static int prepare(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    const struct preparing again = {w->core, w->job->spec, &key, true, &a->args};
    int r = 0;

    if (!a->args.launch && a->args.launch_fd < 0)
        r = hooks_prepare(cx, &again, &a->step);
    if (r < 0) {
        a->error = -r;
        return ON_UNREADY;
    }
    r = attempt_record_make(cx, &again);
    a->has_record = r == 0;
    return r < 0 ? (int)attempt_refused(a, r) : -1;
}

/* Makes START. Arms the wait first, so that an end from now on is an event, and the
 * record of a short job is read at once. */
static void call_start(struct volt_cx *cx, struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);

    record_wait_fini(&a->wait);
    record_wait_init(&a->wait, parts_of(w->core)->run->watch, &key);
    if (cx)
        record_wait_arm(cx, &a->wait);
    keeper_call_fini(&a->call);
    keeper_call_init_start(&a->call, run_link(w->core, a->owner), &key, &a->args);
}

static int signal_of(const struct attempt_state *s, const struct job_spec *spec)
{
    switch ((enum attempt_phase)s->phase) {
    case ATTEMPT_ASKING:
        return spec->stop_signal;
    case ATTEMPT_PAUSING:
        return SIGSTOP;
    case ATTEMPT_RESUMING:
        return SIGCONT;
    default:
        return SIGKILL;
    }
}

/* Makes a signal. A repeated SIGKILL waits behind first ones of other jobs. */
static void call_signal(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_key key = attempt_key(w);
    const struct job_spec *spec = w->job->spec;
    const bool stops =
        a->state.phase == ATTEMPT_ASKING || a->state.phase == ATTEMPT_KILLING;
    enum keeper_scope scope =
        stops && spec->kill_mode == JOB_KILL_MAIN ? KEEPER_SCOPE_MAIN : KEEPER_SCOPE_TREE;
    const int sig = signal_of(&a->state, spec);

    if (stops && sig != SIGKILL) /* a stopped job needs SIGCONT to take it */
        scope |= KEEPER_SCOPE_WAKE;
    if (a->state.phase == ATTEMPT_PAUSING) {
        scope = KEEPER_SCOPE_FREEZE;
        a->was_paused = true;
    }
    keeper_call_fini(&a->call);
    keeper_call_init_signal(&a->call, run_link(w->core, a->owner), &key, sig, scope);
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
        record_wait_init(&a->wait, parts_of(w->core)->run->watch, &key);
}

/* --- timers ----------------------------------------------------------------------- */

static uint64_t limit_of(struct work *w)
{
    struct attempt_state *s = &w->attempt->state;

    switch ((enum attempt_phase)s->phase) {
    case ATTEMPT_RESTING:
        return tries_rest(&s->tries);
    case ATTEMPT_ASKING:
        return w->job->spec->kill_after_usec;
    case ATTEMPT_KILLING:
        return tries_kill_rest(s->kills);
    /* The longer SIGKILL was in vain, the longer the rest. */
    case ATTEMPT_KILLED:
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

/* Returns how long an adopted attempt has been paused, with a pause that lasts still. */
static uint64_t paused_so_far(struct work *w)
{
    const struct job_status st = work_look(NULL, w);
    const uint64_t since = job_paused_at(&st), now = jobs_now_usec();

    return st.paused_usec + (since && now > since ? now - since : 0);
}

/* Arms the timeout. The time counts from the start in the record, without pauses. The
 * time of the answer to START does not matter. */
static void limit_from_start(struct work *w, uint64_t paused_usec)
{
    struct attempt *a = w->attempt;
    const uint64_t timeout = job_spec_timeout(w->job->spec);

    attempt_disarm(&a->limit);
    if (timeout)
        volt_sleep_init_at(&a->limit,
                           a->record.started.mono_usec + timeout + paused_usec);
}

static void wait_for_store(struct work *w)
{
    struct attempt *a = w->attempt;

    store_commit_fini(&a->durable);
    store_barrier(parts_of(w->core)->store, &a->durable);
}

/* Stops the timeout, and notes what is left of it. */
static void limit_stands(struct attempt *a)
{
    const uint64_t until = a->limit.deadline_usec, now = volt_now_usec();

    if (until)
        a->left_usec = until > now ? until - now : 1;
    attempt_disarm(&a->limit);
}

/* Goes on with what was left. If an earlier voltd stopped it, the times in the facts say
 * how long the pause was, by the clock that can be set. */
static void limit_goes_on(struct work *w, uint64_t paused_usec)
{
    struct attempt *a = w->attempt;

    if (!a->left_usec) {
        limit_from_start(w, paused_usec);
        return;
    }
    attempt_disarm(&a->limit);
    volt_sleep_init(&a->limit, a->left_usec);
    a->left_usec = 0;
}

/* Notes that the pause has begun or ended, for tasks that wait for it. Changes on the way
 * could not be followed, so they are looked at again. */
static void turn_time(struct work *w)
{
    struct attempt *a = w->attempt;
    const bool stands = a->state.phase == ATTEMPT_PAUSED;

    core_lock(w->core);
    const uint64_t paused_usec = jobs_status(w->job, w->offset)->paused_usec;
    w->halted = stands;
    vat_u32_store(&w->quiet, false, VAT_RLX);
    core_unlock(w->core);
    if (stands)
        limit_stands(a);
    else
        limit_goes_on(w, paused_usec);
}

/* --- events ----------------------------------------------------------------------- */

static void note_start(struct volt_cx *cx, struct work *w,
                       const struct job_event *started)
{
    struct tx tx;

    core_begin(&tx, w->core);
    if (!jobs_status(w->job, w->offset)->started_usec)
        (void)core_post(&tx, w->job, w->offset, started); /* fact is owed */
    if (!w->adopted) /* an adopted work may have been resumed, so it looks itself */
        work_wait_for_stop(cx, w);
    dispatch_finish(&tx);
}

static void post_started(struct volt_cx *cx, struct work *w)
{
    const struct record_started *s = &w->attempt->record.started;
    struct job_event ev = {.type = JOB_EV_STARTED,
                           .at_usec = s->real_usec,
                           .attempt = attempt_key(w).attempt,
                           .pid = (int32_t)s->pid};

    CRASH_POINT("started-seen");
    volt_sleep_fini(&w->attempt->probe);
    limit_from_start(w, w->adopted ? paused_so_far(w) : 0);
    note_start(cx, w, &ev);
}

/* Posts TIMEOUT or OUTPUT_LIMIT. Returns false for lack of memory. If a cancel came
 * first, that is no failure. */
static bool post_stop(struct work *w, uint32_t todo)
{
    if (!(todo & (DO_POST_TIMEOUT | DO_POST_OUTPUT_LIMIT)))
        return true;
    const struct job_event ev = {.type = todo & DO_POST_TIMEOUT ? JOB_EV_TIMEOUT
                                                                : JOB_EV_OUTPUT_LIMIT,
                                 .at_usec = jobs_now_usec()};
    return work_post(w, &ev) != -ENOMEM;
}

/* Shows the survivors of SIGKILL from now on. */
static void note_left(struct work *w)
{
    struct attempt *a = w->attempt;
    const struct keeper_reply *reply = keeper_call_reply(&a->call);
    const int r = reply->status;
    struct job_named named = {.pid = {0}};

    memcpy(named.pid, reply->survivor, sizeof(named.pid));
    survivors_note(&named, volt_now_usec());
    core_lock(w->core);
    a->left.n = reply->survivors;
    if (r < 0 && r != -ESRCH && !a->left.n) /* the keeper could not look */
        a->left.n = JOB_SURVIVORS_UNKNOWN;
    a->left.named = named;
    w->left = a->left.n ? &a->left : NULL;
    core_unlock(w->core);
}

/* Makes the reboot the reason of a missing or damaged record. A reboot removes all
 * records of a system service, and those that were not on the disk yet. */
static void blame_reboot(struct work *w, struct record *rec)
{
    if (rec->verdict != RECORD_DONE && parts_of(w->core)->store->rebooted &&
        work_look(NULL, w).other_life)
        rec->verdict = RECORD_OTHER_BOOT;
}

/* Returns the end, by the policy of the spec. */
static struct job_event end_of(struct work *w)
{
    struct attempt *a = w->attempt;
    struct job_event end = {.type = JOB_EV_EXITED, .at_usec = jobs_now_usec()};
    struct job_named named;

    switch ((enum attempt_end)a->state.end) {
    case ATTEMPT_RECORDED:
    case ATTEMPT_MISSING:
        blame_reboot(w, &a->record);
        end = record_end_event(&a->record, &named);
        if (a->record.verdict != RECORD_DONE) /* otherwise its shim knows best */
            record_end_survivors(&end, &a->left);
        if (end.result == JOB_RESULT_SUCCESS || end.result == JOB_RESULT_EXIT)
            end.result = job_exit_means(w->job->spec, end.code);
        end.named = interned_named(parts_of(w->core)->interned, end.named, &a->room);
        return end;
    case ATTEMPT_CANCELLED:
        end.result = JOB_RESULT_SUCCESS; /* the state makes it cancelled */
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
        record_watch_check(parts_of(w->core)->run->watch);
    return end;
}

/* --- all of them ------------------------------------------------------------------ */

static void carry_out(struct volt_cx *cx, struct work *w, enum attempt_action action)
{
    struct attempt *a = w->attempt;

    switch (action) {
    case DO_VOID:
        ask_anew(w);
        break;
    case DO_PREPARE: /* attempt_take() does these, as they can fail */
    case DO_REMOVE:  /* attempt_next_input() does this, as it is retried */
    case DO_POST_TIMEOUT:
    case DO_POST_OUTPUT_LIMIT:
        break;
    case DO_CLOSE:
        hooks_close(&a->args);
        break;
    case DO_POST_STARTED:
        post_started(cx, w);
        break;
    case DO_NOTE_LEFT:
        note_left(w);
        break;
    case DO_LIMIT:
        arm_limit(w);
        break;
    case DO_PROBE:
        arm_probe(a);
        break;
    case DO_START:
        call_start(cx, w);
        break;
    case DO_SIGNAL:
        call_signal(w);
        break;
    case DO_LOOK:
        look(w);
        break;
    case DO_POST_EXITED: /* kind_exec.c commits it */
        a->end = end_of(w);
        break;
    case DO_REMOVE_LATER:
        /* If it fails, the next voltd removes the record. */
        (void)removal_add(w->core, &a->key, a->owner,
                          a->was_paused || a->state.paused || a->state.halted);
        break;
    case DO_BLAME:
        a->step = "shim";
        a->error = EAGAIN;
        break;
    case DO_AWAIT_STORE:
        wait_for_store(w);
        break;
    case DO_TIME:
        turn_time(w);
        break;
    }
}

/* Makes a step. Inputs that the phase does not wait for do not come. */
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
    const int unready = todo & DO_PREPARE ? prepare(cx, w) : -1;
    if (unready >= 0)
        step(s, (enum attempt_input)unready, &todo);
    if (!post_stop(w, todo))
        step(s, ON_UNPOSTED, &todo);
    w->attempt->awaited = attempt_awaited_inputs(s);
    for (; todo != 0; todo &= todo - 1)
        carry_out(cx, w, (enum attempt_action)(todo & -todo));
}

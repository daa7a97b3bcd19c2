/* The task of a job: its turn, stop and end. Its kind does the rest. */
#include <errno.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/core/claims.h"
#include "daemon/core/conditions.h"
#include "daemon/core/durations.h"
#include "daemon/core/lent.h"
#include "daemon/core/phase.h"
#include "daemon/core/post.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/early_start.h"
#include "daemon/dispatch/grant.h"
#include "daemon/job/attempt.h"
#include "daemon/job/retry.h"
#include "daemon/observe/log.h"
#include "daemon/run/state.h"
#include "daemon/run/work.h"

#define KEEP_TRIES 100 /* tries to store an end without memory */

/* The steps of work_finish_poll(). */
enum { FINISH_KEEP, FINISH_KEPT, FINISH_COMMIT, FINISH_REST };

void work_leaf_fini(struct work *w)
{
    if (w->leaf_is_commit)
        store_commit_fini(&w->leaf.commit);
    else
        volt_sleep_fini(&w->leaf.sleep);
    memset(&w->leaf, 0, sizeof(w->leaf));
    w->leaf_is_commit = false;
}

/* Gives back the slot. The claims stay until no process is left. A job that is no process
 * begins anew after a restart unless its end is durable, so it has its claims until
 * then. */
static void give_back_slot(struct core *core, struct work *w, uint64_t ran_usec)
{
    grant_leave(core, w);
    grant_end(core, w, ran_usec);
}

/* Separates task and job. */
static void leave_job(struct work *w, struct tx *tx)
{
    struct core *core = w->core;
    struct job *job = w->job;

    give_back_slot(core, w, NEVER_RAN);
    /* Survivors with claims are left here only when voltd ends. Then the job does not
     * retire yet. */
    const bool left = w->holds && jobs_left(job, jobs_status(job, w->offset));
    grant_release_locks(core, w);
    if (w->offset == NO_OFFSET)
        job->live = NULL;
    else
        elements_set(job->elements, w->offset, NULL);
    w->left = NULL;
    w->job = NULL;
    if (!left && --job->tasks == 0)
        job_retire(tx, job);
}

void work_drop(void *state)
{
    struct work *w = state;
    struct tx tx;

    work_leaf_fini(w);
    if (w->job) {
        core_begin(&tx, w->core);
        leave_job(w, &tx);
        dispatch_finish(&tx);
    }
    attempt_free(w->attempt);
    volt_waker_fini(&w->waker);
}

void work_wait_here(struct volt_cx *cx, struct work *w)
{
    if (!w->waker.task)
        w->waker = volt_waker_new(cx);
}

void work_wait_for_stop(struct volt_cx *cx, struct work *w)
{
    if (jobs_status(w->job, w->offset)->state >= JOB_STOPPING)
        return;
    work_wait_here(cx, w);
    vat_u32_store(&w->quiet, true, VAT_RLX);
}

/* Returns the event of the turn. An element may get a slot before it ends with its array
 * (dispatch/dooms.h, core/cancel.h). A failed one may get a slot when it is too late for
 * another attempt. */
static struct job_event next_event(const struct job *job, const struct job_status *st,
                                   uint64_t now)
{
    if (job->array && job->array->cancelled_usec)
        return array_end_event(job->array, now);
    if (job_retry_is_too_late(job->spec, st, now))
        return (struct job_event){.type = JOB_EV_EXPIRED, .at_usec = now};
    return job_starting(st, now);
}

/* Returns whether the work may begin. Without claims only conditions count. For an array
 * they are met before its elements get tasks (array_task.c). Only the array is notified
 * of that, and an element with a task is not held any more. */
static bool may_begin(const struct work *w)
{
    if (jobs_takes(w->job))
        return work_has_slot(w) || work_is_early(w);
    return w->job->array || !waiting_has_to(w->job);
}

struct job_status work_look(struct volt_cx *cx, struct work *w)
{
    core_lock(w->core);
    const struct job_status st = *jobs_status(w->job, w->offset);
    if (cx)
        work_wait_for_stop(cx, w);
    core_unlock(w->core);
    return st;
}

int work_take_turn(struct volt_cx *cx, struct work *w, uint64_t now, struct tx *tx)
{
    struct core *core = w->core;
    const struct job_status *st = jobs_status(w->job, w->offset);

    if (st->state != JOB_QUEUED)
        return 1;
    if (phase_is_closed(core) || !may_begin(w)) {
        work_wait_here(cx, w);
        return 0;
    }
    const struct job_event ev = next_event(w->job, st, now);
    int r = core_post(tx, w->job, w->offset, &ev);
    if (r == 0 && jobs_is_process(w->job))
        CRASH_POINT("start-appended");
    return r < 0 ? r : 1;
}

enum volt_poll work_turn_taken(struct volt_cx *cx, struct work *w, int r)
{
    if (r >= 0)
        return r ? VOLT_READY : VOLT_PENDING;
    work_leaf_fini(w);
    volt_sleep_init(&w->leaf.sleep, POST_AGAIN);
    if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_READY)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* Returns the rest of the back-off; a stop ends it. After it the work wants a slot. */
static uint64_t rest_left(struct volt_cx *cx, struct work *w)
{
    struct tx tx;

    core_begin(&tx, w->core);
    const bool stops = jobs_status(w->job, w->offset)->state != JOB_QUEUED;
    const uint64_t left = stops ? 0 : waiting_rest_left(w->core, w);
    if (left)
        work_wait_here(cx, w);
    else if (w->place == PLACE_RESTS && !stops)
        grant_wait(w->core, w);
    dispatch_finish(&tx);
    return left;
}

/* READY: the work does not back off. */
static enum volt_poll rest_poll(struct volt_cx *cx, struct work *w)
{
    uint64_t left;

    while ((left = rest_left(cx, w)) > 0) {
        work_leaf_fini(w);
        volt_sleep_init(&w->leaf.sleep, left);
        if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
            return VOLT_PENDING;
    }
    return VOLT_READY;
}

enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w)
{
    struct tx tx;

    if (w->begun) { /* with its submission */
        w->begun = false;
        return VOLT_READY;
    }
    if (w->rests && rest_poll(cx, w) == VOLT_PENDING)
        return VOLT_PENDING;
    w->rests = false;
    work_leaf_fini(w); /* the back-off */
    core_begin(&tx, w->core);
    int r = work_take_turn(cx, w, jobs_now_usec(), &tx);
    w->ended = jobs_status(w->job, w->offset)->state == JOB_DONE;
    dispatch_finish(&tx);
    return work_turn_taken(cx, w, r);
}

int work_find_place(struct volt_cx *cx, struct work *w)
{
    struct core *core = w->core;
    int place = -1;

    core_lock(core);
    if (jobs_status(w->job, w->offset)->state >= JOB_STOPPING) {
        place = ON_STOP;
    } else if (work_has_slot(w)) {
        place = ON_SLOT;
    } else {
        place = conditions_is_held(w->job) ? ON_DEFERRED : -1;
        work_wait_here(cx, w);
    }
    core_unlock(core);
    return place;
}

bool work_is_quiet(const struct work *w)
{
    return vat_u32_load(&w->quiet, VAT_RLX);
}

enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w)
{
    if (work_is_quiet(w))
        return VOLT_PENDING;
    return work_look(cx, w).state >= JOB_STOPPING ? VOLT_READY : VOLT_PENDING;
}

enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s)
{
    if (volt_sleep_poll(cx, s) == VOLT_PENDING)
        return VOLT_PENDING;
    return s->deadline_usec > volt_now_usec() + 1000 ? VOLT_PENDING : VOLT_READY;
}

static void report(uint64_t id, const struct job_event *ev)
{
    log_error("job %llu: event %s is out of place", (unsigned long long)id,
              job_event_name(ev->type));
}

int work_post(struct work *w, const struct job_event *ev)
{
    struct tx tx;

    core_begin(&tx, w->core);
    int r = core_post(&tx, w->job, w->offset, ev);
    bool stops = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    if (stops)
        vat_u32_store(&w->quiet, false, VAT_RLX);
    dispatch_finish(&tx);
    if (r == -EPROTO && !stops) /* otherwise a cancel came first */
        report(w->job->id, ev);
    return r;
}

/* Applies the end, unless a cancel has ended the work. Separates task and job, unless
 * there are survivors: after this the task only handles its attempt. */
static void settle_end(struct work *w, const struct job_event *exited)
{
    struct tx tx;
    int r = 0;

    core_begin(&tx, w->core);
    const uint64_t id = w->job->id;
    w->job->unstored |= w->leaf.commit.status < 0;
    if (jobs_status(w->job, w->offset)->state != JOB_DONE)
        r = core_settle(&tx, w->job, w->offset, exited);
    if (r == 0 && !jobs_left(w->job, jobs_status(w->job, w->offset)))
        leave_job(w, &tx);
    dispatch_finish(&tx);
    if (r < 0)
        report(id, exited);
}

enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w)
{
    if (!w->leaf.commit.store)
        return VOLT_READY; /* refused at once */
    return store_commit_poll(cx, &w->leaf.commit);
}

/* Returns how long the work ran. A work cancelled before its start never ran. A failed
 * start did run: a lost attempt may have left survivors with claims. */
static uint64_t ran_usec(const struct job_status *st, const struct job_event *exited)
{
    if (!st->started_usec &&
        (st->state == JOB_DONE || exited->result == JOB_RESULT_SUCCESS))
        return NEVER_RAN;
    if (!st->started_usec || exited->at_usec < st->started_usec)
        return 0;
    return exited->at_usec - st->started_usec;
}

/* Makes a failed work wait for its next attempt, after its back-off. A job backs off by a
 * condition. An array is one waiter, so each element backs off by itself; so does a job
 * without memory for the condition. */
static void back_off(struct work *w, uint64_t ran_usec)
{
    struct core *core = w->core;
    struct job *job = w->job;
    const uint64_t wait = job_retry_left(jobs_status(job, w->offset), jobs_now_usec());

    give_back_slot(core, w, ran_usec);
    grant_release_locks(core, w);
    w->rests =
        wait && (job->array || condition_time_add(parts_of(core)->admit, &job->waiter,
                                                  &condition_backoff, CLOCK_OF_DELAYS,
                                                  waiting_now(core) + wait) < 0);
    if (w->rests)
        grant_rest(core, w, wait);
    else
        grant_wait(core, w);
}

/* Makes a lost work without survivors wait for its next attempt. The work keeps its slot,
 * unless the job has other claims: each attempt spends tokens of rates, and may have to
 * wait for them. */
static void wait_again(struct core *core, struct work *w, uint64_t ran_usec)
{
    lent_over(core, w);
    if (w->job->claims) {
        grant_end(core, w, ran_usec);
        grant_release_locks(core, w);
    }
    if (jobs_takes(w->job) && !work_has_slot(w) && !work_is_early(w))
        grant_wait(core, w);
}

/* Returns whether the store lacked memory for the end, and gets it again. Another attempt
 * must not begin before the store has the end of this one. */
static bool is_given_again(const struct work *w)
{
    return w->leaf.commit.status == -ENOMEM && (w->again || w->keep_tries < KEEP_TRIES);
}

/* Posts the end, or that the attempt has failed and another one follows. */
static void post_exited(struct work *w, const struct job_event *exited, struct tx *tx)
{
    const struct job *job = w->job;
    const struct job_key key = jobs_key(job, w->offset);
    struct job_event ev = *exited;

    if (job->spec->retry_times)
        job_retry_choose(job->spec, jobs_status(job, w->offset), &key, &ev);
    (void)core_post(tx, w->job, w->offset, &ev); /* the commit has the error, too */
}

void work_post_end(struct work *w, const struct job_event *exited, struct tx *tx)
{
    struct core *core = w->core;
    const struct job_status *st = jobs_status(w->job, w->offset);
    const bool started = st->started_usec != 0;
    const uint64_t ran = ran_usec(st, exited);

    if (st->state == JOB_DONE)
        core_barrier(tx, w);
    else
        post_exited(w, exited, tx);
    w->step = FINISH_KEPT;
    if (!w->leaf.commit.store && is_given_again(w))
        return; /* the next STARTING must not be durable before this end */
    if (w->again && st->state == JOB_QUEUED && st->last != JOB_RESULT_LOST) {
        back_off(w, ran);
        return;
    }
    if (w->again) {
        if (st->state == JOB_QUEUED)
            wait_again(core, w, ran);
        return;
    }
    if (work_has_slot(w) && started && jobs_is_process(w->job)) {
        early_note_end(core, ran);
        durations_note(parts_of(core)->durations, w->job, st, exited, ran);
    }
    give_back_slot(core, w, ran); /* the next job's STARTING joins this commit */
    if (ran == NEVER_RAN)
        claims_keep_refund(tx, w->job, waiting_now(core));
    const uint32_t left = st->state == JOB_DONE ? st->survivors : exited->survivors;
    if (jobs_is_process(w->job) && !left) /* otherwise when that end is durable */
        grant_release_locks(core, w);
}

void work_begin_again(struct work *w)
{
    work_leaf_fini(w);
    core_lock(w->core);
    w->left = NULL; /* it points into the attempt */
    w->halted = false;
    core_unlock(w->core);
    attempt_free(w->attempt);
    w->attempt = NULL;
    w->printed = NULL;
    w->adopted = w->assumed = w->again = false;
    w->step = FINISH_KEEP;
    w->keep_tries = 0;
    w->early_until_usec = 0;
}

enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited)
{
    for (;;) {
        if (w->step == FINISH_REST) {
            if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
                return VOLT_PENDING;
            w->step = FINISH_KEEP;
        }
        if (w->step == FINISH_KEEP) {
            struct tx tx;

            work_leaf_fini(w);
            core_begin(&tx, w->core);
            work_post_end(w, exited, &tx);
            dispatch_finish(&tx);
        }
        if (w->step == FINISH_KEPT) {
            CRASH_POINT("end-appended");
            w->step = FINISH_COMMIT;
        }
        if (work_commit_poll(cx, w) == VOLT_PENDING)
            return VOLT_PENDING;
        if (!is_given_again(w))
            break;
        w->keep_tries += !w->again;
        work_leaf_fini(w);
        volt_sleep_init(&w->leaf.sleep, POST_AGAIN);
        w->step = FINISH_REST;
    }
    if (w->leaf.commit.status < 0)
        log_error("job %llu: its end could not be stored: %s",
                  (unsigned long long)w->job->id, strerror(-w->leaf.commit.status));
    CRASH_POINT("end-committed");
    if (!w->again)
        settle_end(w, exited);
    CRASH_POINT("end-applied");
    return VOLT_READY;
}

enum volt_poll work_marked_poll(struct volt_cx *cx, struct work *w)
{
    if (!w->leaf_is_commit)
        return VOLT_READY;
    if (work_commit_poll(cx, w) == VOLT_PENDING)
        return VOLT_PENDING;
    w->unmarked = w->leaf.commit.status;
    return VOLT_READY;
}

struct job_event work_success(struct work *w)
{
    if (!w->end_usec)
        w->end_usec = jobs_now_usec();
    if (w->unmarked)
        return (struct job_event){.type = JOB_EV_EXITED,
                                  .at_usec = w->end_usec,
                                  .result = JOB_RESULT_EXEC_FAILED,
                                  .code = -w->unmarked,
                                  .step = "store"};
    return (struct job_event){
        .type = JOB_EV_EXITED, .at_usec = w->end_usec, .result = JOB_RESULT_SUCCESS};
}

/* Runs what is due, grants slots, and leaves the rest to a task: dispatcher.h. */
#include "daemon/dispatch/dispatcher.h"

#include <errno.h>
#include <volt/time.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/core/act.h"
#include "daemon/core/cancel.h"
#include "daemon/core/claims.h"
#include "daemon/core/each.h"
#include "daemon/core/post.h"
#include "daemon/core/work.h"
#include "daemon/dispatch/dependents.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/dooms.h"
#include "daemon/dispatch/each_run.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/agenda.h"
#include "daemon/core/jobs.h"
#include "daemon/core/leases.h"
#include "daemon/core/phase.h"

/* --- the agenda --------------------------------------------------------------------- */

_Static_assert(TX_STEP >= QUOTA_FACTS + 2, "a cancelled array wakes as many");

/* Cancels a job. Returns 0 (also if it has ended), -EAGAIN (elements are left) or
 * -ENOMEM. */
static int cancel(struct tx *tx, struct job *job)
{
    int r = core_cancel(tx, job, NO_OFFSET);

    if (r == 0 && job->array)
        r = core_cancel_elements(tx, job, &job->elements->cancelled);
    return r == -EAGAIN || r == -ENOMEM ? r : 0;
}

/* Cancels the first job of the agenda. The job leaves the agenda first, as it may leave
 * the table. Returns as cancel(). */
static int act(struct tx *tx)
{
    struct core *core = tx->core;
    struct job *job = parts_of(core)->agenda->first;

    agenda_remove(core, job);
    int r = cancel(tx, job);
    if (r < 0)
        agenda_add(core, job);
    core_did(core, 1, 0, 0);
    return r;
}

/* Returns 0: the agenda is empty; -EAGAIN: work is left for another hold of the lock;
 * -ENOMEM. */
static int drain_agenda(struct tx *tx)
{
    struct core *core = tx->core;
    int r = 0;

    for (int n = 0; parts_of(core)->agenda->first && r == 0; n++)
        r = n < JOBS_SLICE && tx_has_room(tx) && parts_of(core)->held->facts < QUOTA_FACTS
                ? act(tx)
                : -EAGAIN;
    return r;
}

/* --- slots -------------------------------------------------------------------------- */

/* Lanes of lines that a portion looks at, and at most one user's lanes more. */
#define LANES_MOST 2000

static bool is_long(const struct core *core, uint64_t looked_before)
{
    return admission_lanes_looked(parts_of(core)->admit) - looked_before >= LANES_MOST;
}

/* Grants free slots, a portion. Returns as drain_agenda(). */
static int give_slots(struct tx *tx)
{
    const uint64_t looked = admission_lanes_looked(parts_of(tx->core)->admit);
    unsigned budget = JOBS_SLICE;
    struct lease *lease;
    struct work *w;

    for (int given = 0;
         given < JOBS_SLICE && tx_has_room(tx) && !is_long(tx->core, looked); given++) {
        struct job *job = grant_next(tx->core, &w, &lease, &budget);
        if (!job && !lease)
            return budget ? 0 : -EAGAIN;
        core_did(tx->core, 1, 0, 0);
        if (lease)
            leases_give(tx, lease);
        else if (!grant_give(tx, job, w))
            return -ENOMEM;
    }
    return -EAGAIN;
}

/* Grants slots, and then starts jobs early. Returns as drain_agenda(). */
static int hand_out(struct tx *tx)
{
    struct core *core = tx->core;
    int r = give_slots(tx);

    if (r == 0 && !phase_is_closed(core))
        early_fill(core, tx);
    return r;
}

/* Leaves work to the task. -EAGAIN: now; -ENOMEM: after a rest. */
static void leave_to_task(struct tx *tx, int r)
{
    struct dispatcher *d = parts_of(tx->core)->dispatcher;

    *(r == -ENOMEM ? &d->starved : &d->more) = true;
    tx_wake(tx, &d->waker); /* has a place of its own */
}

/* Returns whether a job has missed the time by which it had to start. */
static bool is_any_late(const struct admission *a)
{
    const struct doom *d = doom_first(a);

    return d && d->reason == DOOM_EXPIRED;
}

/* Applies ends of jobs to jobs that wait for them, whose own ends may concern others.
 * Returns as drain_agenda(). */
static int pass_on(struct tx *tx)
{
    struct admission *a = parts_of(tx->core)->admit;
    int r = is_any_late(a) ? dooms_run(tx) : 0;

    while (r == 0 &&
           (condition_after_is_due(a) || doom_first(a) || each_is_due(tx->core))) {
        r = dependents_run(tx);
        if (r == 0)
            r = each_run(tx);
        if (r == 0)
            r = dooms_run(tx);
    }
    return r;
}

/* Runs all steps. Slots are granted after all late jobs have ended, but even while edges
 * are due: there may be many, and jobs with due edges are not in the line. Returns as
 * drain_agenda(). */
static int run_all(struct tx *tx)
{
    const struct admission *a = parts_of(tx->core)->admit;
    int r = drain_agenda(tx);

    if (r < 0)
        return r;
    const int passed = pass_on(tx);
    if (is_any_late(a))
        return passed;
    r = claims_forget_gone(tx);
    if (r == 0 && !admission_is_idle(a))
        r = hand_out(tx);
    return r < 0 ? r : passed;
}

/* Wakes the timer's task if something is due earlier than it knows. */
static void stir_timer(struct tx *tx)
{
    struct timer *t = &parts_of(tx->core)->dispatch->timer;

    if (!t->waker.task)
        return;
    const struct admission_times at = admission_tick_at(parts_of(tx->core)->admit);
    if (at.boottime >= t->next.boottime && at.realtime >= t->next.realtime)
        return;
    tx_wake(tx, &t->waker); /* has a place of its own */
}

/* Facts that may wait for the disk. Beyond that nothing is granted and no end is passed
 * on: it would be durable no sooner, and others' facts would wait behind it. */
#define FACTS_MOST 4096

static bool is_ahead_of_disk(const struct core *core)
{
    return parts_of(core)->dispatcher->facts + parts_of(core)->held->facts >= FACTS_MOST;
}

void dispatcher_run(struct tx *tx)
{
    int r = is_ahead_of_disk(tx->core) ? -EAGAIN : run_all(tx);

    if ((job_leave_some(tx) || parts_of(tx->core)->dispatcher->ends_wait) &&
        r == 0) /* includes jobs that ended just now */
        r = -EAGAIN;
    if (r < 0)
        leave_to_task(tx, r);
    stir_timer(tx);
}

void dispatch_finish(struct tx *tx)
{
    core_charge(tx->core, NULL);
    if (parts_of(tx->core)->dispatcher->on)
        dispatcher_run(tx);
    core_end(tx);
}

/* --- the task ----------------------------------------------------------------------- */

struct dispatching {
    struct core *core;
    struct volt_sleep rest;
    struct store_commit commit; /* of the first `facts` facts; store NULL: none */
    uint64_t facts;
    struct store_commit ends; /* the latest barrier of ended jobs, likewise */
    bool rests;
};

/* Returns whether there is work; otherwise sets the waker. */
static bool is_needed(struct volt_cx *cx, struct dispatching *t)
{
    struct dispatcher *d = parts_of(t->core)->dispatcher;

    core_lock(t->core);
    t->rests = d->starved;
    bool needed = d->more || d->starved;
    if (!needed && !d->waker.task)
        d->waker = volt_waker_new(cx);
    core_unlock(t->core);
    if (t->rests)
        volt_sleep_init(&t->rest, POST_AGAIN);
    return needed;
}

/* Returns whether facts are durable that were too many. */
static bool has_disk(struct volt_cx *cx, struct dispatching *t)
{
    if (!t->commit.store)
        return true;
    if (store_commit_poll(cx, &t->commit) == VOLT_PENDING)
        return false;
    t->commit.store = NULL;
    core_lock(t->core);
    parts_of(t->core)->dispatcher->facts -= t->facts;
    core_unlock(t->core);
    return true;
}

/* Notes that ends are durable, whose jobs may leave memory. */
static void look_at_ends(struct volt_cx *cx, struct dispatching *t)
{
    struct dispatcher *d = parts_of(t->core)->dispatcher;

    if (!t->ends.store || store_commit_poll(cx, &t->ends) == VOLT_PENDING)
        return;
    t->ends.store = NULL;
    if (t->ends.status < 0)
        return; /* voltd ends */
    core_lock(t->core);
    d->barrier_done = d->barriers;
    d->more = true;
    core_unlock(t->core);
}

static void begin_barrier(struct dispatching *t)
{
    struct dispatcher *d = parts_of(t->core)->dispatcher;

    d->ends_wait = false;
    d->barriers++;
    store_barrier(parts_of(t->core)->store, &t->ends);
    t->ends.patient = true;
}

static void run_portion(struct dispatching *t)
{
    struct dispatcher *d = parts_of(t->core)->dispatcher;
    struct tx tx;

    core_begin(&tx, t->core);
    d->more = d->starved = false;
    if (is_ahead_of_disk(t->core)) {
        store_barrier(parts_of(t->core)->store, &t->commit);
        t->facts = d->facts;
    }
    if (d->ends_wait)
        begin_barrier(t);
    dispatch_finish(&tx);
}

static enum volt_poll dispatcher_poll(struct volt_cx *cx, void *state)
{
    struct dispatching *t = state;

    look_at_ends(cx, t);
    if (!has_disk(cx, t))
        return VOLT_PENDING;
    if (!t->rests && !is_needed(cx, t))
        return VOLT_PENDING;
    if (t->rests && volt_sleep_poll(cx, &t->rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&t->rest);
    t->rests = false;
    run_portion(t);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void dispatcher_drop(void *state)
{
    struct dispatching *t = state;
    struct core *core = t->core;

    volt_sleep_fini(&t->rest);
    if (t->commit.store)
        store_commit_fini(&t->commit);
    store_commit_fini(&t->ends);
    core_lock(core);
    struct volt_waker waker = parts_of(core)->dispatcher->waker;
    parts_of(core)->dispatcher->waker = (struct volt_waker){0};
    core_unlock(core);
    volt_waker_fini(&waker);
}

static const struct volt_task_type dispatcher_type = {
    "dispatcher", sizeof(struct dispatching), dispatcher_poll, dispatcher_drop, NULL};

int dispatcher_start(struct core *core)
{
    struct dispatching *t = volt_task_new(parts_of(core)->rt, &dispatcher_type);
    struct tx tx;

    if (!t)
        return -ENOMEM;
    t->core = core;
    core_begin(&tx, core);
    parts_of(core)->dispatcher->on = true;
    dispatch_finish(&tx);
    (void)volt_task_spawn(t, NULL); /* dropped if the runtime ends */
    return 0;
}

/* See grant.h. */
#include "daemon/dispatch/grant.h"

#include <assert.h>

#include "daemon/core/post.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/each.h"
#include "daemon/core/elements.h"
#include "daemon/core/jobs.h"
#include "daemon/core/kinds.h"
#include "daemon/core/lease_table.h"
#include "daemon/core/lent.h"
#include "daemon/core/phase.h"
#include "daemon/core/users.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"
#include "daemon/job/array.h"

static struct work *element_of(struct list_node *n)
{
    return n ? list_thing(n, struct work, element) : NULL;
}

/* --- which job --------------------------------------------------------------------- */

/* Returns the work that gets the job's next slot. NULL: to be made. */
static struct work *next_work(const struct job *job)
{
    return job->array ? element_of(job->elements->waiting.first) : job->live;
}

struct job *grant_next(struct core *core, struct work **ret_work,
                       struct lease **ret_lease, unsigned *budget)
{
    struct waiter *first = NULL;

    *ret_lease = NULL;
    if (!phase_is_closed(core))
        first = admission_next(parts_of(core)->admit, waiting_now(core), budget);
    if (!first)
        return NULL;
    if (first->is_lease) {
        *ret_lease = lease_of_waiter(first);
        return NULL;
    }
    struct job *job = job_of_waiter(first);
    *ret_work = next_work(job);
    return job;
}

/* --- granting ---------------------------------------------------------------------- */

static bool wants_slot(enum work_place place)
{
    return place == PLACE_WAITS || place == PLACE_EARLY;
}

static void list_element(struct elements *e, struct work *w)
{
    struct list_node *at = e->waiting.last;

    while (at && element_of(at)->offset > w->offset)
        at = at->prev;
    list_add_before(&e->waiting, &w->element, at ? at->next : e->waiting.first);
    e->nwaiting++;
}

static void unlist_element(struct elements *e, struct work *w)
{
    list_remove(&e->waiting, &w->element);
    e->nwaiting--;
}

static void rest_element(struct elements *e, struct work *w, enum work_place was)
{
    if (was == PLACE_RESTS) {
        list_remove(&e->resting, &w->element);
        e->nresting--;
    }
    if (w->place == PLACE_RESTS) {
        list_add_last(&e->resting, &w->element);
        e->nresting++;
    }
}

/* Moves a work to a place, with the counts and lists of places; does not recount the job.
 *
 *   from \ to   NONE   RESTS      WAITS                EARLY          SLOT
 *   NONE         gone   backs off  wants one            starts early   gets one, has had
 *                                                                      one
 *   RESTS        gone   -          wants one            never          never
 *   WAITS        gone   never      -                    starts early   gets one
 *   EARLY        gone   never      starts not early     -              gets one
 *   SLOT         ended  never      gives it back        never          - */
static void set_place(struct core *core, struct work *w, enum work_place place)
{
    struct elements *e = w->job->array ? w->job->elements : NULL;
    const enum work_place was = w->place;
    const uint64_t more = (uint64_t)(place == PLACE_EARLY) - (was == PLACE_EARLY);

    assert(was != PLACE_SLOT || place != PLACE_EARLY);
    w->place = place;
    parts_of(core)->dispatch->early.n += (uint32_t)more;
    if (!e)
        return;
    e->nearly += more;
    rest_element(e, w, was);
    if (wants_slot(place) && !wants_slot(was))
        list_element(e, w);
    else if (!wants_slot(place) && wants_slot(was))
        unlist_element(e, w);
}

void grant_set_early(struct core *core, struct work *w, bool early)
{
    if (early != work_is_early(w))
        set_place(core, w, early ? PLACE_EARLY : PLACE_WAITS);
    waiting_recount(core, w->job);
}

void grant_wait(struct core *core, struct work *w)
{
    struct job *job = w->job;

    set_place(core, w, PLACE_WAITS);
    if (!admission_waits(&job->waiter))
        waiting_enter(core, job);
    else
        waiting_recount(core, job);
}

void grant_rest(struct core *core, struct work *w, uint64_t usec)
{
    w->rests_until_usec = waiting_now(core) + usec;
    set_place(core, w, PLACE_RESTS);
}

void grant_leave(struct core *core, struct work *w)
{
    if (wants_slot(w->place) || w->place == PLACE_RESTS)
        set_place(core, w, PLACE_NONE);
    if (w->job->array)
        waiting_update(core, w->job);
    else
        waiting_leave(core, w->job);
}

/* Lists the work as a holder of its job's claims, if any; unhold() ends that. */
static void hold(struct core *core, struct work *w)
{
    if (!w->job->claims)
        return;
    struct user *u = users_find(parts_of(core)->users, w->job->owner.uid);
    w->holds = true;
    w->held_nr = ++u->held_nr;
    list_add_last(&u->holders, &w->held);
}

static void unhold(struct core *core, struct work *w)
{
    if (w->holds)
        list_remove(&users_find(parts_of(core)->users, w->job->owner.uid)->holders,
                    &w->held);
    w->holds = false;
}

void grant_refund(struct core *core, struct work *w)
{
    if (w->spent)
        admission_refund(parts_of(core)->admit, &w->job->waiter, waiting_now(core));
    w->spent = false;
}

void grant_take(struct core *core, struct work *w)
{
    struct job *job = w->job;

    set_place(core, w, PLACE_SLOT);
    hold(core, w);
    admission_take(parts_of(core)->admit, &job->waiter, job->array && waiting_wants(job),
                   waiting_now(core));
    grant_refund(core, w); /* not twice for one attempt */
    waiting_recount(core, job);
}

bool grant_try(struct core *core, struct work *w)
{
    if (phase_is_closed(core) ||
        !admission_try(parts_of(core)->admit, &w->job->waiter, waiting_now(core)))
        return false;
    set_place(core, w, PLACE_SLOT);
    return true;
}

void grant_recover(struct core *core, struct work *w)
{
    set_place(core, w, PLACE_SLOT);
    hold(core, w);
    admission_recover(parts_of(core)->admit, &w->job->waiter, waiting_now(core));
    waiting_recount(core, w->job);
}

void grant_recover_claims(struct core *core, struct work *w)
{
    hold(core, w);
    admission_recover_locks(parts_of(core)->admit, &w->job->waiter, waiting_now(core));
}

void grant_return(struct core *core, struct work *w)
{
    lent_over(core, w);
    unhold(core, w);
    admission_put_back(parts_of(core)->admit, &w->job->waiter, waiting_now(core));
    grant_wait(core, w);
}

void grant_ask_anew(struct core *core, struct work *w)
{
    grant_return(core, w);
    grant_set_early(core, w, true);
    w->spent |= w->job->claims;
    w->assumed = false;
}

void grant_end(struct core *core, struct work *w, uint64_t ran_usec)
{
    struct waiter *waiter = &w->job->waiter;

    lent_over(core, w);
    if (ran_usec == NEVER_RAN)
        grant_refund(core, w);
    if (!work_has_slot(w))
        return;
    set_place(core, w, PLACE_NONE);
    if (ran_usec != NEVER_RAN) {
        admission_ended(parts_of(core)->admit, waiter, 1, ran_usec, waiting_now(core));
        return;
    }
    unhold(core, w);
    admission_undo(parts_of(core)->admit, waiter, waiting_now(core));
}

void grant_release_locks(struct core *core, struct work *w)
{
    if (!w->holds)
        return;
    unhold(core, w);
    admission_release_locks(parts_of(core)->admit, &w->job->waiter, 1, waiting_now(core));
}

struct work *grant_element(struct tx *tx, struct job *job)
{
    const struct job_event submit = {.type = JOB_EV_SUBMIT};
    struct core *core = tx->core;
    int64_t offset = each_next(job);

    if (array_reserve(job->array, offset) < 0 ||
        elements_reserve(job->elements, offset) < 0)
        return NULL;
    struct work *w = work_new(core, job, offset);
    if (!w)
        return NULL;
    elements_set(job->elements, offset, w);
    (void)core_settle(tx, job, offset, &submit); /* cannot fail: it is in the rest */
    job->tasks++;
    tx->spawn[tx->nspawn++] = w;
    if (jobs_takes(job))
        grant_wait(core, w);
    return w;
}

bool grant_give(struct tx *tx, struct job *job, struct work *w)
{
    if (!jobs_takes(job)) { /* no process: it only had to meet its conditions */
        waiting_forget(tx->core, job);
        jobs_wake(job->live, tx);
        return true;
    }
    if (!w && job->array)
        w = grant_element(tx, job);
    else if (!w)
        w = jobs_give_task(tx, job);
    if (!w)
        return false;
    if (work_is_early(w) &&
        !w->waker.task) /* its slot is idle until its STARTING is durable */
        tx->kick = true;
    grant_take(tx->core, w);
    jobs_wake(w, tx);
    return true;
}

/* See why.h. */
#include "daemon/query/why.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/resource.h"
#include "daemon/core/claims.h"
#include "daemon/core/conditions.h"
#include "daemon/core/each.h"
#include "daemon/core/lease_table.h"
#include "daemon/core/inner_wait.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/query/holder.h"
#include "daemon/query/view.h"
#include "daemon/run/run.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"

#define CALL_JOBS 8 /* jobs of a call inside it that are looked at, at most */

static enum job_wait wait_of(const struct reason *r)
{
    return r->condition ? r->condition->kind->wait
                        : explain_wait(r->kind, r->in_front > 0);
}

/* Returns the line of a waiter for a rate, or for the limit of its array: its slot comes
 * with it. */
static struct why_line line_of_alone(const struct reason *r)
{
    if (!r->resource)
        return (struct why_line){
            .places = r->capacity, .used = r->used, .own = r->used, .of_array = true};
    return (struct why_line){.places = r->slots.capacity,
                             .used = r->slots.used,
                             .own = r->slots.own,
                             .in_front = r->in_front,
                             .first_usec = r->first_usec,
                             .step_usec = r->step_usec};
}

static struct why_line line_of(const struct reason *r)
{
    struct why_line line = {.used = r->used, .own = r->used - r->others};

    if (r->alone)
        return line_of_alone(r);
    if (r->is_left)
        return (struct why_line){.places = 0};
    line.in_front = r->in_front;
    if (r->resource && explain_wait(r->kind, false) == JOB_WAIT_LOCK &&
        r->wanted <= r->capacity) {
        const bool whole = !resource_counts(r->resource);
        line.places = whole ? 1 : r->capacity / r->wanted;
        line.used = whole ? 1 : r->used / r->wanted;
        if (!whole)
            line.own = (line.own + r->wanted - 1) / r->wanted;
        if (r->holder.id && !r->is_lease && !r->is_left_behind) {
            line.holder = r->holder;
            line.held_usec = r->held_usec;
        }
    } else if (r->queue) {
        line.places = r->capacity;
    }
    return line;
}

/* Writes that the job's keeper does not answer. */
static void keeper_text(const struct core *core, uid_t owner,
                        char ret[static REASON_TEXT])
{
    if (run_has_keepers(core))
        (void)snprintf(ret, REASON_TEXT,
                       "voltd-keeper@%u does not answer: systemctl status "
                       "voltd-keeper@%u says why",
                       (unsigned)owner, (unsigned)owner);
    else
        (void)snprintf(ret, REASON_TEXT, "voltd-keeper does not answer");
}

/* Adds what the user's waiter needs before it may start. */
static void add_of_admission(struct core *core, uid_t uid, const struct waiter *w,
                             struct why *ret)
{
    const struct admission_times now = {waiting_now(core), jobs_now_usec()};
    struct reason reasons[WHY_MOST];
    struct hold hold;
    size_t n = explain(parts_of(core)->admit, w, now.boottime, reasons, WHY_MOST);

    ret->n = n < WHY_MOST ? n : WHY_MOST;
    if (w->state == WAITER_LINE) {
        const struct explain_brief brief =
            explain_brief(parts_of(core)->admit, w, now.boottime);

        ret->reason[0].group = explain_group(&brief);
    }
    for (size_t i = 0; i < ret->n; i++) {
        ret->reason[i].wait = wait_of(&reasons[i]);
        if (ret->reason[i].wait == JOB_WAIT_HOLD && condition_hold_of(w, &hold))
            ret->reason[i].group = hold.by_admin;
        if (ret->reason[i].wait == JOB_WAIT_LOCK)
            holder_add(core, uid, now.realtime, &reasons[i]);
        ret->reason[i].pid = reasons[i].holder_pid;
        if (w->state == WAITER_LINE) {
            ret->line = line_of(&reasons[i]);
            ret->is_next = reasons[i].is_next;
        }
        core_did(core, reasons[i].looks, 0, 0);
        if (ret->reason[i].wait == JOB_WAIT_KEEPER)
            keeper_text(core, uid, ret->reason[i].text);
        else
            explain_text(&reasons[i], &now, ret->reason[i].text, REASON_TEXT);
    }
}

/* Adds a reason; NULL: no room. */
static struct why_reason *add_reason(struct why *ret, enum job_wait wait)
{
    if (ret->n == WHY_MOST)
        return NULL;
    ret->reason[ret->n].wait = wait;
    return &ret->reason[ret->n++];
}

/* Adds the elements that back off, which are not in the line with their array. */
static void add_of_resting(struct core *core, const struct job *array,
                           const struct job_view *v, struct why *ret)
{
    struct why_reason *r = v->resting ? add_reason(ret, JOB_WAIT_TIME) : NULL;
    char id[JOB_KEY_TEXT_MAX], when[64];
    int64_t offset;

    if (!r)
        return;
    (void)condition_backoff_text(waiting_first_rest(core, array, &offset), when,
                                 sizeof(when));
    const struct job_key key = jobs_key(array, offset);
    (void)job_key_format_job(&key, id);
    (void)snprintf(r->text, sizeof(r->text), "%" PRIu64 " element%s back%s off; %s: %s",
                   v->resting, v->resting == 1 ? "" : "s", v->resting == 1 ? "s" : "", id,
                   when);
}

/* Adds what the user has paused. */
static void add_of_pause(const struct job_view *v, struct why *ret)
{
    const bool paused = v->has_counts ? v->paused > 0 : v->status.state == JOB_PAUSED;
    struct why_reason *r = paused ? add_reason(ret, JOB_WAIT_PAUSED) : NULL;
    char id[JOB_KEY_TEXT_MAX], count[48] = "";

    if (!r)
        return;
    (void)job_key_format_job(&v->key, id);
    if (v->has_counts)
        (void)snprintf(count, sizeof(count), "%" PRIu64 " element%s of it ", v->paused,
                       v->paused == 1 ? "" : "s");
    (void)snprintf(r->text, sizeof(r->text), "%spaused, until `voltctl resume %s`", count,
                   id);
}

/* Adds a back-off outside the line: an element, or a job that lacked memory. */
static void add_of_rest(uint64_t left, struct why *ret)
{
    struct why_reason *r = left ? add_reason(ret, JOB_WAIT_TIME) : NULL;

    if (r)
        (void)condition_backoff_text(left, r->text, sizeof(r->text));
}

/* Adds what the element waits for of another array. For an array without such a condition
 * (it claims nothing): the first queued element, if none is ready. Returns whether there
 * is one. */
static bool add_of_elements(const struct job *job, int64_t offset, struct why *ret)
{
    const bool whole = offset == NO_OFFSET;
    const bool none = !job->array || (whole && (jobs_takes(job) || each_rest(job)));
    const int64_t at = none ? ARRAY_WHOLE : whole ? array_next(job->array) : offset;
    const struct each_edge *e = at == ARRAY_WHOLE ? NULL : each_unmet(job, (uint64_t)at);
    struct why_reason *r = &ret->reason[ret->n];

    if (!e)
        return false;
    ret->n++;
    r->wait = JOB_WAIT_DEPENDENCY;
    (void)condition_after_text(e->antecedent, e->when, whole, r->text, sizeof(r->text));
    return true;
}

/* Adds what a started or ending job waits for. */
static void add_of_view(const struct core *core, const struct job_view *v,
                        struct why *ret)
{
    const bool waits = v->wait == JOB_WAIT_KEEPER || v->wait == JOB_WAIT_SURVIVORS;
    struct why_reason *r = waits ? add_reason(ret, v->wait) : NULL;

    if (r && v->wait == JOB_WAIT_SURVIVORS)
        (void)snprintf(r->text, sizeof(r->text),
                       "processes of it live on that SIGKILL has not ended");
    else if (r)
        keeper_text(core, ret->owner, r->text);
}

/* Returns the state of the call's first job that has not ended, and the job in *ret;
 * looks at CALL_JOBS. DONE: all of these have ended, and *ret is the last. */
static enum job_state first_left(struct core *core, const struct inner_wait *call,
                                 struct job_key *ret)
{
    const struct asker same_user = auth_user(call->uid);
    enum job_state state = JOB_DONE;
    int64_t offset;

    for (size_t i = 0; i < call->n && i < CALL_JOBS && state == JOB_DONE; i++) {
        *ret = call->job(call->arg, i);
        const struct job *job = jobs_find(core, &same_user, ret->id, ret->index, &offset);
        if (job)
            state = jobs_any_status(job, offset).state;
        core_did(core, 1, 0, 0);
    }
    return state;
}

static void add_of_call(struct core *core, const struct inner_wait *call, struct why *ret)
{
    struct why_reason *r = add_reason(ret, JOB_WAIT_INSIDE);
    struct job_key first = {.id = 0};
    const enum job_state state = first_left(core, call, &first);
    char id[JOB_KEY_TEXT_MAX], count[48] = "", which[80] = "";

    (void)job_key_format_job(&first, id);
    if (call->n > 1)
        (void)snprintf(count, sizeof(count), "the ends of %zu jobs", call->n);
    if (call->n == 1)
        (void)snprintf(which, sizeof(which), "job %s", id);
    else if (state != JOB_DONE)
        (void)snprintf(which, sizeof(which), ", also of job %s", id);
    (void)snprintf(r->text, sizeof(r->text), "something inside it waits for %s%s%s%s",
                   count, which, state == JOB_DONE ? "" : ", which is ",
                   state == JOB_DONE ? "" : job_state_name(state));
}

/* Adds calls inside the job, among the first of its user. Leaves room for the lease and
 * the slot. */
static void add_of_calls(struct core *core, uid_t uid, const struct job_key *key,
                         struct why *ret)
{
    const struct list_node *n = users_find(parts_of(core)->users, uid)->inner_waits.first;

    for (size_t i = 0; n && i < HOLDERS_LOOKED_AT && ret->n < WHY_MOST - 2; i++) {
        const struct inner_wait *call = list_thing(n, struct inner_wait, node);

        core_did(core, 1, 0, 0);
        if (job_key_equal(&call->in_job, key))
            add_of_call(core, call, ret);
        n = n->next;
    }
}

/* Writes " (held by ...)": the holder of the lock that the lease waits for, or "". */
static void holder_text(struct core *core, const struct lease *l, char *ret, size_t size)
{
    size_t n;
    struct reason r = {.resource = admission_claims(&l->waiter, &n)->resource,
                       .looks = EXPLAIN_LOOKS};
    char id[JOB_KEY_TEXT_MAX];

    holder_add(core, l->uid, jobs_now_usec(), &r);
    core_did(core, r.looks - EXPLAIN_LOOKS, 0, 0);
    *ret = '\0';
    (void)job_key_format_job(&r.holder, id);
    if (r.holder.id && r.is_lease)
        (void)snprintf(ret, size, " (held by volt-lock, pid %d)", (int)r.holder_pid);
    else if (r.holder.id)
        (void)snprintf(ret, size, " (held by job %s)", id);
}

/* Adds the first lease that waits inside the job, among the first of its user. */
static void add_of_lease(struct core *core, uid_t uid, const struct job_key *key,
                         struct why *ret)
{
    const struct lease *l = leases_next(core, uid, NULL);
    char by[JOB_KEY_TEXT_MAX + 32];
    size_t n;

    for (size_t i = 0; l && (l->state != LEASE_WAITS || !job_key_equal(&l->in_job, key));
         i++) {
        core_did(core, 1, 0, 0);
        l = i < HOLDERS_LOOKED_AT ? leases_next(core, uid, l) : NULL;
    }
    struct why_reason *r = l ? add_reason(ret, JOB_WAIT_INSIDE) : NULL;
    if (!r)
        return;
    holder_text(core, l, by, sizeof(by));
    (void)snprintf(r->text, sizeof(r->text), "something inside it waits for %s %s%s",
                   admission_claims(&l->waiter, &n)->resource->kind->name, lease_name(l),
                   by);
}

/* Adds what the job waits for inside itself, and that it lends its slot. */
static void add_of_inside(struct core *core, const struct job *job, int64_t offset,
                          const struct job_view *v, struct why *ret)
{
    const struct work *w = v->has_counts ? NULL : jobs_live(job, offset);
    const struct job_key key = {.id = v->key.id, .index = v->key.index};
    struct why_reason *r;

    if (!w || list_is_empty(&w->inside))
        return;
    add_of_calls(core, job->owner.uid, &key, ret);
    add_of_lease(core, job->owner.uid, &key, ret);
    if (w->lends && (r = add_reason(ret, JOB_WAIT_INSIDE)))
        (void)snprintf(r->text, sizeof(r->text),
                       "its slot is lent to others meanwhile, and comes back at once "
                       "then, before all that wait for one");
}

/* Returns whether part of it waits without a slot. */
static bool is_to_start(const struct job_view *v)
{
    return v->has_counts
               ? v->queued > 0
               : v->status.state == JOB_QUEUED || v->status.state == JOB_STARTING;
}

/* Adds what it waits for without a slot, if it does. What backs off is not in the line,
 * and a hold keeps it all the same. */
static void add_of_start(struct core *core, struct job *job, int64_t offset,
                         const struct job_view *v, struct why *ret)
{
    const uint64_t rest = waiting_rest_of(core, job, offset);
    const bool waits = !jobs_done(job) && is_to_start(v);

    if (waits && (rest ? conditions_is_held(job) : !add_of_elements(job, offset, ret)))
        add_of_admission(core, job->owner.uid, &job->waiter, ret);
    add_of_rest(rest, ret);
}

/* Lock held. */
static void add_all(struct core *core, struct job *job, int64_t offset, struct why *ret)
{
    struct job_view view;

    jobs_view_state(core, job, offset, &view);
    ret->state = (enum job_state)view.status.state;
    ret->owner = job->owner.uid;
    add_of_start(core, job, offset, &view, ret);
    add_of_resting(core, job, &view, ret);
    add_of_pause(&view, ret);
    add_of_inside(core, job, offset, &view, ret);
    if (!ret->n)
        add_of_view(core, &view, ret);
}

int query_why(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct quota *quota, struct why *ret)
{
    int64_t offset;

    *ret = (struct why){.n = 0};
    core_lock(core);
    core_charge(core, quota);
    core_did(core, 1, 0, 0);
    struct job *job = jobs_find(core, asker, id, index, &offset);
    if (job)
        add_all(core, job, offset, ret);
    core_unlock(core);
    return job ? 0 : -ENOENT;
}

void query_why_new(struct core *core, struct job *job, struct why *ret)
{
    *ret = (struct why){.state = JOB_QUEUED, .owner = job->owner.uid};
    core_did(core, 1, 0, 0);
    if (!add_of_elements(job, NO_OFFSET, ret))
        add_of_admission(core, job->owner.uid, &job->waiter, ret);
}

/* Puts a waiter at the end of the line, explains it and takes it out again. */
void query_why_lease(struct core *core, uid_t uid, const struct job_claim *claim,
                     struct quota *quota, struct why *ret)
{
    const struct admission_ask wants = {.uid = uid};
    struct job_claim wanted = *claim;
    struct waiter w = {.state = WAITER_NONE};
    struct tx tx;

    *ret = (struct why){.n = 0};
    core_begin(&tx, core);
    core_charge(core, quota);
    core_did(core, 1, 0, 0);
    if (claims_assign_one(core, &wants, &w, UINT64_MAX, &wanted, true, NULL) == 0) {
        admission_enter(parts_of(core)->admit, &w, waiting_now(core));
        add_of_admission(core, uid, &w, ret);
        admission_leave(parts_of(core)->admit, &w);
    }
    admission_forget(parts_of(core)->admit, &w);
    dispatch_finish(&tx);
}

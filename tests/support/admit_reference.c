/* See admit_reference.h. */
#include <string.h>

#include "tests/support/admit_reference.h"

#define SCALE 1024

void ref_init(struct ref *r)
{
    memset(r, 0, sizeof(*r));
    for (int q = 0; q < REF_QUEUES; q++) {
        r->queues[q].weight = 1;
        for (int u = 0; u < REF_USERS; u++)
            r->accounts[u][q].expected = 1000000;
    }
}

static struct ref_time *account_of(struct ref *r, int job)
{
    return &r->accounts[r->jobs[job].user][r->jobs[job].queue];
}

/* --- sums --------------------------------------------------------------------------- */

/* Slots of a queue and a user; -1: of all. */
static uint64_t slots_of(const struct ref *r, int queue, int user)
{
    uint64_t sum = 0;

    for (int i = 0; i < REF_JOBS; i++)
        if (r->jobs[i].there && r->jobs[i].slot &&
            (queue < 0 || r->jobs[i].queue == queue) &&
            (user < 0 || r->jobs[i].user == user))
            sum += r->jobs[i].running - r->jobs[i].lent;
    return sum;
}

uint64_t ref_used(const struct ref *r)
{
    return slots_of(r, -1, -1);
}

bool ref_is_at_limit(const struct ref *r, int user)
{
    return r->user_most && slots_of(r, -1, user) >= r->user_most;
}

static const struct ref_claim *claim_on(const struct ref_job *j, int resource)
{
    for (int i = 0; i < j->n; i++)
        if (j->claims[i].resource == resource)
            return &j->claims[i];
    return NULL;
}

static uint64_t taken(const struct ref *r, int resource, bool exclusive_only)
{
    uint64_t sum = 0;

    for (int i = 0; i < REF_JOBS; i++) {
        const struct ref_claim *c =
            r->jobs[i].there ? claim_on(&r->jobs[i], resource) : NULL;
        if (c && (c->exclusive || !exclusive_only))
            sum += r->jobs[i].holding * c->amount;
    }
    return sum;
}

static uint64_t tokens(const struct ref_resource *x, uint64_t now)
{
    const uint64_t passed = now - x->at, full = x->capacity * x->per_usec;
    const uint64_t missing = x->missing_usec > passed ? x->missing_usec - passed : 0;

    return missing < full ? (full - missing) / x->per_usec : 0;
}

static bool fits(const struct ref *r, const struct ref_claim *c)
{
    const struct ref_resource *x = &r->resources[c->resource];

    if (x->kind == REF_RATE)
        return tokens(x, r->now) >= c->amount;
    if (x->kind == REF_SEMAPHORE)
        return taken(r, c->resource, false) + c->amount <= x->capacity;
    return taken(r, c->resource, c->exclusive ? false : true) == 0;
}

/* --- queues ------------------------------------------------------------------------- */

static bool is_below(const struct ref *r, int queue)
{
    return slots_of(r, queue, -1) < r->queues[queue].nominal;
}

/* It could not start one more if the machine were empty. */
static bool is_limited(const struct ref *r, const struct ref_job *j)
{
    const struct ref_queue *q = &r->queues[j->queue];

    if (q->paused)
        return true;
    return j->slot && (r->away[j->user] || ref_is_at_limit(r, j->user) ||
                       (q->most && slots_of(r, j->queue, -1) >= q->most) ||
                       (q->user_most && slots_of(r, j->queue, j->user) >= q->user_most));
}

static bool is_able(const struct ref *r, const struct ref_job *j)
{
    const uint64_t used = ref_used(r);
    uint64_t kept = 0;

    if (is_limited(r, j) || !j->slot)
        return !is_limited(r, j);
    for (int q = 0; q < REF_QUEUES; q++)
        if (!r->queues[q].lends && !r->queues[q].paused && is_below(r, q))
            kept += r->queues[q].nominal - slots_of(r, q, -1);
    return used + (is_below(r, j->queue) ? 0 : kept) < r->slots;
}

/* --- virtual times ------------------------------------------------------------------ */

static bool is_busy(const struct ref *r, int queue, int user)
{
    if (r->accounts[user][queue].running)
        return true;
    for (int i = 0; i < REF_JOBS; i++)
        if (r->jobs[i].there && r->jobs[i].eligible && r->jobs[i].queue == queue &&
            r->jobs[i].user == user)
            return true;
    return false;
}

static bool queue_is_busy(const struct ref *r, int queue)
{
    for (int u = 0; u < REF_USERS; u++)
        if (is_busy(r, queue, u))
            return true;
    return false;
}

/* Before the job joins, or starts: its account comes back if it was idle. */
static void wake(struct ref *r, int job)
{
    const int queue = r->jobs[job].queue, user = r->jobs[job].user;
    uint64_t least = UINT64_MAX;

    if (is_busy(r, queue, user))
        return;
    if (queue_is_busy(r, queue)) {
        for (int u = 0; u < REF_USERS; u++)
            if (is_busy(r, queue, u) && r->accounts[u][queue].settled < least)
                least = r->accounts[u][queue].settled;
        if (least > r->accounts[user][queue].settled)
            r->accounts[user][queue].settled = least;
        return;
    }
    for (int q = 0; q < REF_QUEUES; q++)
        if (queue_is_busy(r, q) && r->queues[q].time.settled < least)
            least = r->queues[q].time.settled;
    if (least != UINT64_MAX && least > r->queues[queue].time.settled)
        r->queues[queue].time.settled = least;
}

static uint64_t cost(const struct ref *r, const struct ref_job *j, uint64_t usec)
{
    return j->slot ? usec * SCALE / (r->slots ? r->slots : 1) : 0;
}

static void charge(struct ref_time *t, uint64_t amount)
{
    t->running++;
    t->charged += amount;
}

static void uncharge(struct ref_time *t)
{
    t->charged -= t->charged / t->running;
    t->running--;
}

/* --- what happens ------------------------------------------------------------------- */

void ref_time(struct ref *r, uint64_t now)
{
    for (int i = 0; i < REF_RESOURCES; i++) {
        struct ref_resource *x = &r->resources[i];
        const uint64_t passed = now - x->at;

        x->missing_usec = x->missing_usec > passed ? x->missing_usec - passed : 0;
        x->at = now;
    }
    r->now = now;
}

void ref_join(struct ref *r, int job)
{
    wake(r, job);
    r->jobs[job].eligible = true;
    r->jobs[job].passed = 0;
}

void ref_leave(struct ref *r, int job)
{
    r->jobs[job].eligible = false;
}

static void spend(struct ref *r, const struct ref_job *j, bool back)
{
    for (int i = 0; i < j->n; i++) {
        struct ref_resource *x = &r->resources[j->claims[i].resource];
        const uint64_t usec = j->claims[i].amount * x->per_usec;

        if (x->kind == REF_RATE && !back)
            x->missing_usec += usec;
        else if (x->kind == REF_RATE)
            x->missing_usec = x->missing_usec > usec ? x->missing_usec - usec : 0;
    }
}

void ref_take(struct ref *r, int job)
{
    struct ref_job *j = &r->jobs[job];
    const uint64_t charged = cost(r, j, account_of(r, job)->expected);

    wake(r, job);
    charge(account_of(r, job), charged);
    charge(&r->queues[j->queue].time, charged / r->queues[j->queue].weight);
    j->running++;
    j->holding++;
    spend(r, j, false);
}

void ref_undo(struct ref *r, int job)
{
    struct ref_job *j = &r->jobs[job];

    uncharge(account_of(r, job));
    uncharge(&r->queues[j->queue].time);
    j->running--;
    j->holding--;
    spend(r, j, true);
}

void ref_end(struct ref *r, int job, uint64_t n, uint64_t ran_usec)
{
    struct ref_job *j = &r->jobs[job];
    struct ref_time *account = account_of(r, job), *queue = &r->queues[j->queue].time;

    for (uint64_t i = 0; i < n; i++) {
        uncharge(account);
        uncharge(queue);
        account->settled += cost(r, j, ran_usec / n);
        queue->settled += cost(r, j, ran_usec / n) / r->queues[j->queue].weight;
        account->expected = (account->expected * 7 + ran_usec / n) / 8;
    }
    j->running -= n;
}

/* --- the order ---------------------------------------------------------------------- */

static uint64_t time_of(const struct ref_time *t)
{
    return t->settled + t->charged;
}

bool ref_before(const struct ref *r, int a, int b)
{
    const struct ref_job *x = &r->jobs[a], *y = &r->jobs[b];

    if (x->queue != y->queue) {
        const uint64_t s = time_of(&r->queues[x->queue].time);
        const uint64_t t = time_of(&r->queues[y->queue].time);

        if (is_below(r, x->queue) != is_below(r, y->queue))
            return is_below(r, x->queue);
        return s < t || (s == t && x->queue < y->queue);
    }
    if (x->priority != y->priority)
        return x->priority > y->priority;
    if (x->user != y->user) {
        const uint64_t s = time_of(&r->accounts[x->user][x->queue]);
        const uint64_t t = time_of(&r->accounts[y->user][y->queue]);

        return s < t || (s == t && x->user < y->user);
    }
    return x->rank < y->rank;
}

/* The first in the line behind `after`; -1: the first of all, or there is none. */
static int first_behind(const struct ref *r, int after)
{
    int best = -1;

    for (int i = 0; i < REF_JOBS; i++)
        if (r->jobs[i].there && r->jobs[i].eligible &&
            (after < 0 || ref_before(r, after, i)) &&
            (best < 0 || ref_before(r, i, best)))
            best = i;
    return best;
}

/* --- next --------------------------------------------------------------------------- */

static bool at_limit(const struct ref_job *j)
{
    return j->most && j->running >= j->most;
}

int ref_next(const struct ref *r)
{
    bool right[REF_RESOURCES] = {false}; /* a job that is earlier has it */

    for (int i = first_behind(r, -1); i >= 0; i = first_behind(r, i)) {
        const struct ref_job *j = &r->jobs[i];
        const struct ref_claim *short_of = NULL;

        if (!is_able(r, j) || at_limit(j))
            continue;
        for (int k = 0; k < j->n && !short_of; k++)
            if (!fits(r, &j->claims[k]) || right[j->claims[k].resource])
                short_of = &j->claims[k];
        if (!short_of)
            return i;
        for (int k = 0; k < j->n; k++)
            right[j->claims[k].resource] = true;
    }
    return -1;
}

static bool fits_all(const struct ref *r, const struct ref_job *j)
{
    if (!is_able(r, j) || at_limit(j))
        return false;
    for (int k = 0; k < j->n; k++)
        if (!fits(r, &j->claims[k]))
            return false;
    return true;
}

/* It is short of nothing but locks, and of a slot. */
static bool wants_locks_only(const struct ref *r, const struct ref_job *j)
{
    if (is_limited(r, j) || at_limit(j))
        return false;
    for (int k = 0; k < j->n; k++) {
        const struct ref_resource *x = &r->resources[j->claims[k].resource];

        if ((x->kind == REF_RATE && !fits(r, &j->claims[k])) ||
            (x->kind != REF_RWLOCK && j->claims[k].amount > x->capacity))
            return false;
    }
    return true;
}

static bool share_a_lock(const struct ref *r, const struct ref_job *x,
                         const struct ref_job *y)
{
    for (int k = 0; k < x->n; k++)
        if (r->resources[x->claims[k].resource].kind != REF_RATE &&
            claim_on(y, x->claims[k].resource))
            return true;
    return false;
}

static bool share_anything(const struct ref_job *x, const struct ref_job *y)
{
    for (int k = 0; k < x->n; k++)
        if (claim_on(y, x->claims[k].resource))
            return true;
    return false;
}

/* Whether an earlier one wants a rate that it wants: its tokens may be that one's. */
static bool has_rate_before(const struct ref *r, int job)
{
    const struct ref_job *j = &r->jobs[job];

    for (int k = 0; k < j->n; k++)
        for (int i = first_behind(r, -1); i != job; i = first_behind(r, i))
            if (r->resources[j->claims[k].resource].kind == REF_RATE &&
                claim_on(&r->jobs[i], j->claims[k].resource))
                return true;
    return false;
}

const char *ref_may(const struct ref *r, int job)
{
    if (job >= 0 && !fits_all(r, &r->jobs[job]))
        return "it does not fit";
    for (int i = first_behind(r, -1); i >= 0 && i != job; i = first_behind(r, i)) {
        const struct ref_job *j = &r->jobs[i];
        bool has_before = false;

        if (job >= 0 && share_a_lock(r, j, &r->jobs[job]) && wants_locks_only(r, j) &&
            is_able(r, j) && !has_rate_before(r, i))
            return "it passes one that is short of locks only";
        for (int k = first_behind(r, -1); k != i && !has_before; k = first_behind(r, k))
            has_before = share_anything(&r->jobs[k], j);
        if (!has_before && fits_all(r, j))
            return "an earlier one fits, and nothing is before it";
    }
    return NULL;
}

/* Whether it is the first of its user, queue and priority that wants what job wants. */
static bool is_first_of_user(const struct ref *r, int of, int job)
{
    const struct ref_job *x = &r->jobs[of];

    for (int i = 0; i < REF_JOBS; i++) {
        const struct ref_job *y = &r->jobs[i];

        if (i != of && y->there && y->eligible && y->user == x->user &&
            y->queue == x->queue && y->priority == x->priority && y->slot == x->slot &&
            y->rank < x->rank && share_a_lock(r, y, &r->jobs[job]))
            return false;
    }
    return true;
}

bool ref_may_be_kept(const struct ref *r, int job)
{
    for (int i = first_behind(r, -1); i >= 0 && i != job; i = first_behind(r, i))
        if (share_a_lock(r, &r->jobs[i], &r->jobs[job]) &&
            wants_locks_only(r, &r->jobs[i]))
            return true;
    return false;
}

const char *ref_passes(struct ref *r, int job)
{
    const char *wrong = NULL;

    for (int i = first_behind(r, -1); i >= 0 && i != job; i = first_behind(r, i)) {
        struct ref_job *j = &r->jobs[i];

        if (!share_a_lock(r, j, &r->jobs[job]) || !wants_locks_only(r, j))
            continue;
        if (j->passed >= r->bypass && is_first_of_user(r, i, job))
            wrong = "it passes one that has a reservation";
        j->passed++;
    }
    return wrong;
}

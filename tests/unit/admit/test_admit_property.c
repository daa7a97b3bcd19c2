/* Admission beside a slow reference, over random histories.
 *
 * Jobs of three users in three queues, arrays among them, with claims on locks, semaphores
 * and rates, come and wait, start, lend their slots and take them back, end, leave
 * processes behind, are edited, held up, cancelled and recovered, while limits, queues and time change. After each step the next
 * job is asked for until there is none, and the reference must say the same:
 *
 *   EXACT   what claims both locks and rates does not occur, nor limits below what is
 *           claimed: the next job is the reference's
 *   MIXED   it occurs: the next job is one that may be it (ref_may)
 *   BYPASS  a waiter may be passed one to three times: the same; it is not more often, and
 *           nothing is kept for what could not start
 *
 * HISTORIES=N runs as many, SEED=N begins with that one; a failure says its seed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/admit/state.h"
#include "tests/support/admit_edit.h"
#include "tests/support/admit_reference.h"

#define HISTORIES 10000
#define STEPS     120
#define SECOND    UINT64_C(1000000)

enum mode { EXACT, MIXED, BYPASS };

static struct admission *a;
static struct ref ref;
static struct waiter w[REF_JOBS];
static uint64_t left[REF_JOBS];    /* elements without a grant */
static uint64_t held_by[REF_JOBS]; /* what it replaces; 0: it is not held up */
static struct job_queue *queues[REF_QUEUES];
static struct resource *resources[REF_RESOURCES];
static enum mode mode;
static uint64_t seed, last_rank, last_hold;

/* --- chance ------------------------------------------------------------------------- */

static uint64_t chance;

static uint64_t any(uint64_t n)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (chance >> 11) % n;
}

/* One of those jobs that are as asked; -1: none is. */
static int some_job(bool (*is)(int))
{
    const int from = (int)any(REF_JOBS);

    for (int i = 0; i < REF_JOBS; i++)
        if (is((from + i) % REF_JOBS))
            return (from + i) % REF_JOBS;
    return -1;
}

/* --- what was covered --------------------------------------------------------------- */

enum {
    STARTS,
    CLAIMS_3,
    LOCK_AND_RATE,
    RESIZES,
    PAUSES,
    AWAYS,
    USER_LIMITS,
    AT_LIMIT,
    SURVIVORS,
    CRASHES,
    LENT,
    TAKEN_BACK,
    OVER,
    EDITS,
    HOLDS,
    CANCELS,
    PUT_BACKS,
    FORCED,
    ELEMENTS,
    TICKS,
    PASSED,
    OUT_OF_ORDER,
    BLOCKED_SEEN,
    SHORT_SEEN,
    IMPOSSIBLE_SEEN,
    RESERVED,
    PEEKED,
    COVERED
};
static const char *const covered_names[COVERED] = {
    "starts",      "claims_3", "lock_and_rate", "resizes",      "pauses",    "aways",
    "user_limits", "at_limit", "survivors",     "crashes",      "lent",      "taken_back",
    "over",        "edits",    "holds",         "cancels",      "put_backs", "forced",
    "elements",    "ticks",    "passed",        "out_of_order", "blocked",   "short",
    "impossible",  "reserved", "peeked"};
static uint64_t covered[COVERED];

/* --- failure ------------------------------------------------------------------------ */

static void failed(const char *what)
{
    fprintf(stderr, "SEED=%llu HISTORIES=1: %s\n", (unsigned long long)seed, what);
    fail();
}

static void check(bool right, const char *what)
{
    if (!right)
        failed(what);
}

/* --- the world ---------------------------------------------------------------------- */

static const struct {
    enum ref_kind kind;
    int owner; /* -1: global */
    uint64_t capacity;
} pool[REF_RESOURCES] = {
    {REF_RATE, -1, 3},     {REF_RATE, 1, 1},       {REF_RWLOCK, -1, 1},
    {REF_RWLOCK, -1, 1},   {REF_RWLOCK, 0, 1},     {REF_RWLOCK, 1, 1},
    {REF_RWLOCK, 2, 1},    {REF_SEMAPHORE, -1, 3}, {REF_SEMAPHORE, 0, 2},
    {REF_SEMAPHORE, 1, 3}, {REF_SEMAPHORE, 2, 2},  {REF_RWLOCK, -1, 1}};

static uint64_t per_usec_of(int i)
{
    return pool[i].kind == REF_RATE ? SECOND * (uint64_t)(2 + i) : 0;
}

static void make_admission(void)
{
    static const struct siphash_key key = {3, 4};

    a = admission_new(&key, (uint32_t)ref.slots);
    assert_non_null(a);
    admission_set_bypass(a, &(struct admission_bypass){ref.bypass, UINT64_MAX});
    for (int q = 0; q < REF_QUEUES; q++) {
        const struct ref_queue *x = &ref.queues[q];
        const struct queue_policy policy = {
            x->nominal, x->most, x->user_most, x->weight, x->lends, x->paused, NULL};

        queues[q] = q ? admission_add_queue(a, &policy) : admission_default_queue(a);
        admission_set_queue(a, queues[q], &policy);
    }
    admission_set_user_most(a, ref.user_most);
    for (int user = 0; user < REF_USERS; user++)
        assert_int_equal(admission_set_away(a, (uid_t)user, ref.away[user]), 0);
    for (int i = 0; i < REF_RESOURCES; i++) {
        static const struct resource_kind *const kinds[] = {
            &resource_rwlock, &resource_semaphore, &resource_rate};
        char name[16];
        const struct named_ask ask = {.owner = (uid_t)pool[i].owner,
                                      .global = pool[i].owner < 0,
                                      .name = name,
                                      .kind = kinds[pool[i].kind],
                                      .capacity = ref.resources[i].capacity,
                                      .per_usec = ref.resources[i].per_usec};

        snprintf(name, sizeof(name), "r%d", i);
        assert_int_equal(named_get(a, &ask, &resources[i]), 0);
        named_declare(a, resources[i], true);
        named_put(a, resources[i]);
        resources[i]->full_at = ref.now + ref.resources[i].missing_usec;
    }
}

static void begin_history(void)
{
    ref_init(&ref);
    memset(w, 0, sizeof(w));
    memset(left, 0, sizeof(left));
    memset(held_by, 0, sizeof(held_by));
    mode = (enum mode)any(3);
    last_rank = last_hold = 0;
    ref.now = SECOND * 1000;
    ref.slots = any(5);
    ref.user_most = any(3) ? 0 : (uint32_t)(1 + any(3));
    ref.bypass = mode == BYPASS ? (uint32_t)(1 + any(3)) : UINT32_MAX;
    for (int q = 0; q < REF_QUEUES; q++)
        ref.queues[q].weight = (uint32_t)(1 + any(3));
    for (int i = 0; i < REF_RESOURCES; i++)
        ref.resources[i] = (struct ref_resource){.kind = pool[i].kind,
                                                 .capacity = pool[i].capacity,
                                                 .per_usec = per_usec_of(i),
                                                 .at = ref.now};
    make_admission();
}

static bool is_there(int i)
{
    return ref.jobs[i].there;
}

/* --- what a job asks for ------------------------------------------------------------ */

static bool may_claim(const struct ref_job *j, int i)
{
    const bool is_rate = pool[i].kind == REF_RATE;

    if (pool[i].owner >= 0 && pool[i].owner != j->user)
        return false;
    if (mode == BYPASS && is_rate)
        return false;
    if (mode == EXACT && j->n > 0)
        return !is_rate && pool[j->claims[0].resource].kind != REF_RATE;
    return true;
}

static void choose_claims(struct ref_job *j)
{
    const uint64_t want = any(REF_CLAIMS + 1);

    j->n = 0;
    for (int i = 0; i < REF_RESOURCES && (uint64_t)j->n < want; i++) {
        if (any(4) || !may_claim(j, i))
            continue;
        const bool counts = pool[i].kind != REF_RWLOCK;
        const uint64_t most =
            mode == MIXED ? ref.resources[i].capacity : pool[i].capacity;

        j->claims[j->n++] = (struct ref_claim){i, counts ? (uint32_t)(1 + any(most)) : 1,
                                               !counts && any(2)};
    }
}

/* What another one of the user asks for: they are of one class. */
static bool choose_as_another(struct ref_job *j)
{
    const int other = some_job(is_there);

    if (other < 0 || ref.jobs[other].user != j->user || &ref.jobs[other] == j)
        return false;
    const struct ref_job *o = &ref.jobs[other];
    j->priority = o->priority;
    j->queue = o->queue;
    j->slot = o->slot;
    j->n = o->n;
    memcpy(j->claims, o->claims, sizeof(j->claims));
    return true;
}

static void choose(struct ref_job *j)
{
    if (any(2) && choose_as_another(j))
        return;
    j->priority = (int)any(2);
    j->queue = (int)any(REF_QUEUES);
    j->slot = any(6) > 0;
    choose_claims(j);
}

static int ask_for(int job, int (*how)(struct admission *, struct waiter *,
                                       const struct admission_ask *, uint64_t))
{
    const struct ref_job *j = &ref.jobs[job];
    struct claim claims[2 * REF_CLAIMS];
    struct admission_ask ask = {.uid = (uid_t)j->user,
                                .priority = j->priority,
                                .slot = j->slot,
                                .most = j->most,
                                .queue = queues[j->queue],
                                .claims = claims};

    for (int k = j->n - 1; k >= 0; k--) /* in any order, and in parts */
        if (j->claims[k].amount > 1) {
            claims[ask.n++] = (struct claim){resources[j->claims[k].resource],
                                             j->claims[k].amount - 1, false};
            claims[ask.n++] = (struct claim){resources[j->claims[k].resource], 1, false};
        } else {
            claims[ask.n++] = (struct claim){resources[j->claims[k].resource], 1,
                                             j->claims[k].exclusive};
        }
    return how(a, &w[job], &ask, j->rank);
}

/* --- steps -------------------------------------------------------------------------- */

static bool is_free(int i)
{
    return !is_there(i);
}

static bool runs(int i)
{
    return ref.jobs[i].there && ref.jobs[i].running;
}

static bool has_survivors(int i)
{
    return ref.jobs[i].there && ref.jobs[i].holding > ref.jobs[i].running;
}

static bool is_eligible(int i)
{
    return ref.jobs[i].there && ref.jobs[i].eligible;
}

static bool is_held(int i)
{
    return ref.jobs[i].there && held_by[i];
}

static bool waits(int i)
{
    return is_eligible(i) || is_held(i);
}

static bool has_nothing(int i)
{
    return waits(i) && !ref.jobs[i].holding && !ref.jobs[i].most;
}

static bool is_one_job(int i)
{
    return is_eligible(i) && left[i] == 1 && !ref.jobs[i].holding;
}

/* It goes when nothing is left of it. */
static void forget_done(int job)
{
    if (waits(job) || ref.jobs[job].holding)
        return;
    admission_forget(a, &w[job]);
    ref.jobs[job].there = false;
}

static void hold(int job)
{
    held_by[job] = ++last_hold;
    assert_int_equal(condition_replace_add(a, &w[job], held_by[job]), 0);
    covered[HOLDS]++;
}

static void submit(void)
{
    const int job = some_job(is_free);
    struct ref_job *j = &ref.jobs[job];

    if (job < 0)
        return;
    *j =
        (struct ref_job){.there = true, .rank = ++last_rank, .user = (int)any(REF_USERS)};
    j->there = false; /* not yet, while another one is chosen */
    choose(j);
    j->there = true;
    left[job] = any(4) ? 1 : 2 + any(5);
    j->most = left[job] > 1 && any(2) ? (uint32_t)(1 + any(2)) : 0;
    held_by[job] = 0;
    const int r = ask_for(job, admission_assign);
    if (r == -ERANGE) { /* more than there is */
        j->there = false;
        return;
    }
    assert_int_equal(r, 0);
    covered[CLAIMS_3] += j->n == 3;
    covered[LOCK_AND_RATE] += j->n > 1 && pool[j->claims[0].resource].kind == REF_RATE &&
                              pool[j->claims[j->n - 1].resource].kind != REF_RATE;
    if (any(6) == 0)
        hold(job);
    else
        ref_join(&ref, job);
    admission_enter(a, &w[job], ref.now);
}

static bool may_lend(int i)
{
    return ref.jobs[i].there && ref.jobs[i].slot &&
           ref.jobs[i].running > ref.jobs[i].lent;
}

static bool lends(int i)
{
    return ref.jobs[i].there && ref.jobs[i].lent;
}

static void lend(void)
{
    const int job = some_job(may_lend);

    if (job < 0)
        return;
    admission_lend(a, &w[job], ref.now);
    ref.jobs[job].lent++;
    covered[LENT]++;
}

static void take_back(int job)
{
    admission_take_back(a, &w[job], ref.now);
    ref.jobs[job].lent--;
    covered[TAKEN_BACK]++;
    covered[OVER] += ref_used(&ref) > ref.slots;
}

static void take_one_back(void)
{
    const int job = some_job(lends);

    if (job >= 0)
        take_back(job);
}

static void end_one(void)
{
    const int job = some_job(runs);
    const uint64_t took = any(2) ? any(SECOND / 50) : any(10 * SECOND);

    if (job < 0)
        return;
    const uint64_t n = any(2) ? 1 : ref.jobs[job].running;
    while (ref.jobs[job].lent > ref.jobs[job].running - n)
        take_back(job);
    admission_ended(a, &w[job], n, took, ref.now);
    ref_end(&ref, job, n, took);
    if (any(3)) {
        admission_release_locks(a, &w[job], n, ref.now);
        ref.jobs[job].holding -= n;
    } else {
        covered[SURVIVORS]++;
    }
    forget_done(job);
}

static void survivor_goes(void)
{
    const int job = some_job(has_survivors);

    if (job < 0)
        return;
    admission_release_locks(a, &w[job], 1, ref.now);
    ref.jobs[job].holding--;
    forget_done(job);
}

static void cancel(void)
{
    const int job = some_job(waits);

    if (job < 0)
        return;
    admission_leave(a, &w[job]);
    ref_leave(&ref, job);
    held_by[job] = 0;
    forget_done(job);
    covered[CANCELS]++;
}

static void edit(void)
{
    const int job = some_job(has_nothing);

    if (job < 0)
        return;
    const struct ref_job before = ref.jobs[job];
    struct ref_job *j = &ref.jobs[job];
    choose(j);
    if (any(3) == 0)
        j->rank = ++last_rank;
    const struct ref_job after = *j;
    const int r = ask_for(job, admit_edit);
    *j = before;
    if (r == -ERANGE)
        return;
    assert_int_equal(r, 0);
    if (before.eligible) {
        ref_leave(&ref, job);
        *j = after;
        j->eligible = false;
        ref_join(&ref, job);
        j->passed = before.passed;
    } else {
        *j = after;
    }
    covered[EDITS]++;
}

static void hold_or_release(void)
{
    const int job = some_job(any(2) ? is_held : is_eligible);

    if (job < 0)
        return;
    if (held_by[job]) {
        const uint64_t by = held_by[job];
        held_by[job] = 0;
        ref_join(&ref, job);
        condition_replace_gone(a, by, ref.now);
    } else {
        ref_leave(&ref, job);
        hold(job);
    }
}

static void pass_time(void)
{
    ref_time(&ref, ref.now + any(5 * SECOND));
    if (admission_tick_at(a).boottime <= ref.now)
        covered[TICKS]++;
    while (!admission_tick(a, &(struct admission_times){ref.now, 0}, 1))
        ;
}

static void resize(void)
{
    if (any(2)) {
        ref.slots = any(6);
        admission_resize(a, (uint32_t)ref.slots);
    } else {
        const int i = (int)any(REF_RESOURCES);
        struct ref_resource *r = &ref.resources[i];

        if (r->kind == REF_RWLOCK)
            return;
        /* EXACT: at least what was there at first, so that all claims stay possible */
        r->capacity = mode == MIXED ? 1 + any(4) : pool[i].capacity + any(3);
        admission_resize_named(a, resources[i], r->capacity, r->per_usec);
    }
    covered[RESIZES]++;
}

static void change_queue(void)
{
    const int i = (int)any(REF_QUEUES);
    struct ref_queue *q = &ref.queues[i];

    q->nominal = any(2) ? 0 : (uint32_t)any(3);
    q->most = any(2) ? 0 : (uint32_t)(1 + any(3));
    q->user_most = any(2) ? 0 : (uint32_t)(1 + any(2));
    q->lends = any(2);
    q->paused = any(4) == 0;
    covered[PAUSES] += q->paused;
    const struct queue_policy policy = {q->nominal, q->most,   q->user_most, q->weight,
                                        q->lends,   q->paused, NULL};
    admission_set_queue(a, queues[i], &policy);
}

/* A user goes away, or comes; it may be so already. */
static void change_user(void)
{
    const int user = (int)any(REF_USERS);

    ref.away[user] = any(3) == 0;
    assert_int_equal(admission_set_away(a, (uid_t)user, ref.away[user]), 0);
    covered[AWAYS] += ref.away[user];
}

/* Of slots over all queues. */
static void limit_users(void)
{
    ref.user_most = any(2) ? 0 : (uint32_t)(1 + any(3));
    admission_set_user_most(a, ref.user_most);
    covered[USER_LIMITS] += ref.user_most != 0;
}

static void grant(int job)
{
    const bool stays = --left[job] > 0;

    admission_take(a, &w[job], stays, ref.now);
    ref_take(&ref, job);
    if (!stays)
        ref_leave(&ref, job);
    covered[STARTS]++;
    covered[ELEMENTS] += stays;
}

static void take_anyway(void)
{
    const int job = some_job(is_one_job);

    if (job < 0 || any(4))
        return;
    grant(job);
    covered[FORCED]++;
}

static void put_back(int job)
{
    const uint32_t passed = ref.jobs[job].passed;

    left[job]++;
    admission_put_back(a, &w[job], ref.now);
    if (!ref.jobs[job].eligible)
        ref_join(&ref, job);
    ref.jobs[job].passed = passed;
    ref_undo(&ref, job);
    covered[PUT_BACKS]++;
}

/* --- a crash ------------------------------------------------------------------------ */

/* Claims are taken where attempts had begun, and everything else asks again. */
static void recover(int job)
{
    struct ref_job *j = &ref.jobs[job];
    const uint64_t running = j->running, survivors = j->holding - running;
    struct ref_resource resource_levels[REF_RESOURCES];

    w[job] = (struct waiter){.rank = 0};
    assert_int_equal(ask_for(job, admission_assign), 0);
    memcpy(resource_levels, ref.resources, sizeof(resource_levels));
    j->running = 0;
    j->holding = survivors;
    for (uint64_t i = 0; i < running; i++) {
        admission_recover(a, &w[job], ref.now);
        ref_take(&ref, job);
    }
    memcpy(ref.resources, resource_levels, sizeof(resource_levels));
    for (uint64_t i = 0; i < survivors; i++)
        admission_recover_locks(a, &w[job], ref.now);
}

static void crash(void)
{
    static bool was_eligible[REF_JOBS];

    admission_free(a);
    for (int q = 0; q < REF_QUEUES; q++) {
        ref.queues[q].time = (struct ref_time){0};
        for (int u = 0; u < REF_USERS; u++)
            ref.accounts[u][q] = (struct ref_time){.expected = SECOND};
    }
    make_admission();
    uint64_t capacities[REF_RESOURCES];
    for (int i = 0; i < REF_RESOURCES; i++) { /* what was possible once is assigned */
        capacities[i] = resources[i]->capacity;
        resources[i]->capacity += 100;
    }
    uint64_t running[REF_JOBS];
    for (int i = 0; i < REF_JOBS; i++) {
        was_eligible[i] = is_eligible(i);
        ref.jobs[i].eligible = false;
        running[i] = ref.jobs[i].running;
        ref.jobs[i].running = ref.jobs[i].lent = 0;
        ref.jobs[i].holding -= running[i];
    }
    for (int i = 0; i < REF_JOBS; i++) {
        ref.jobs[i].running = running[i];
        ref.jobs[i].holding += running[i];
        if (ref.jobs[i].there)
            recover(i);
    }
    for (int i = 0; i < REF_RESOURCES; i++)
        admission_resize_named(a, resources[i], capacities[i], resources[i]->per_usec);
    for (int i = 0; i < REF_JOBS; i++) {
        if (is_held(i))
            assert_int_equal(condition_replace_add(a, &w[i], held_by[i]), 0);
        if (was_eligible[i])
            ref_join(&ref, i);
        if (was_eligible[i] || is_held(i))
            admission_enter(a, &w[i], ref.now);
    }
    covered[CRASHES]++;
}

/* --- after each step ---------------------------------------------------------------- */

/* Waiters of the lanes in front of it, and in those all that want the same. */
static void check_place(const struct lane *own)
{
    uint64_t in_front = 0, waiters = 0;

    for (const struct lane *t = line_part(&a->ready, lane_part(own)); t && t != own;
         t = lane_after(t))
        in_front += t->place.own;
    for (int i = 0; i < REF_JOBS; i++)
        waiters += is_eligible(i) && w[i].class->ready.lane == own;
    check(own->place.own == waiters, "waiters of a lane");
    check(lane_waiters_before(own) == in_front, "waiters in front of a lane");
}

static void check_sums(void)
{
    uint64_t eligible = 0, held = 0;

    for (int i = 0; i < REF_JOBS; i++) {
        eligible += is_eligible(i);
        held += is_held(i);
        if (!is_eligible(i))
            continue;
        const enum class_place place = w[i].class->place;
        covered[BLOCKED_SEEN] += place == CLASS_BLOCKED;
        covered[SHORT_SEEN] += place == CLASS_SHORT;
        covered[AT_LIMIT] += ref.jobs[i].slot && ref_is_at_limit(&ref, ref.jobs[i].user);
        covered[IMPOSSIBLE_SEEN] += place == CLASS_IMPOSSIBLE;
        if (w[i].class->ready.lane->seats.root)
            check_place(w[i].class->ready.lane);
    }
    check(admission_count(a).used == ref_used(&ref), "slots in use");
    check(admission_count(a).eligible == eligible, "eligible waiters");
    check(admission_count(a).unmet == held, "waiters with unmet conditions");
    for (int i = 0; i < REF_RESOURCES; i++) {
        uint64_t used = 0;

        for (int k = 0; k < REF_JOBS; k++)
            for (int c = 0; ref.jobs[k].there && c < ref.jobs[k].n; c++)
                if (ref.jobs[k].claims[c].resource == i)
                    used += ref.jobs[k].holding * ref.jobs[k].claims[c].amount;
        check(pool[i].kind == REF_RATE || resources[i]->used == used, "a lock in use");
    }
}

/* The next job; -1: none. */
static int next(void)
{
    unsigned budget = 10000;
    struct waiter *x = admission_next(a, ref.now, &budget);

    check(budget > 0, "the search for the next one does not end");
    return x ? (int)(x - w) : -1;
}

static void check_next(int job)
{
    const char *wrong = NULL;

    if (mode == EXACT)
        check(job == ref_next(&ref), job < 0 ? "one that is next waits" : "not the next");
    else
        wrong = ref_may(&ref, job);
    const int first = mode == BYPASS ? ref_next(&ref) : job;
    if (first != job && !wrong && !ref_may_be_kept(&ref, first))
        wrong = "what it claims is kept for nothing";
    if (wrong)
        failed(wrong);
}

static void count_passes(int job)
{
    const char *wrong = ref_passes(&ref, job);

    if (mode == BYPASS && wrong)
        failed(wrong);
    for (int i = 0; i < REF_JOBS; i++)
        if (is_eligible(i)) {
            covered[PASSED] += ref.jobs[i].passed > 0;
            covered[RESERVED] += ref.jobs[i].passed >= ref.bypass;
        }
}

static bool is_claimant(int job)
{
    return is_eligible(job) && ref.jobs[job].n > 0;
}

/* With one slot more the next is what peek says, of those that may have it; what claims
 * more than a slot is not told there. */
static void check_peek(void)
{
    struct waiter *seen[REF_JOBS];
    const size_t n = admission_peek(a, seen, REF_JOBS);
    unsigned budget = 1000;
    size_t i = 0;

    if (n == 0 || some_job(is_claimant) >= 0)
        return;
    admission_resize(a, admission_count(a).used + 1);
    const struct waiter *x = admission_next(a, ref.now, &budget);
    while (i < n && !admission_may_have_slot(seen[i]))
        i++;
    check(budget > 0 && x == (i < n ? seen[i] : NULL), "peek says another one");
    admission_resize(a, (uint32_t)ref.slots);
    covered[PEEKED] += x != NULL;
}

static void start_all(void)
{
    for (int job; (job = next()) >= 0;) {
        check(is_eligible(job), "one that is not eligible");
        check_next(job);
        count_passes(job);
        grant(job);
        if (any(12) == 0)
            put_back(job);
        if (any(10) == 0)
            return; /* the rest another time */
    }
    check_next(-1);
    check_peek();
}

static void step(void)
{
    static void (*const steps[])(void) = {
        submit,        submit,        submit,     submit,
        end_one,       end_one,       end_one,    survivor_goes,
        survivor_goes, cancel,        lend,       lend,
        take_one_back, take_one_back, edit,       hold_or_release,
        pass_time,     pass_time,     resize,     change_queue,
        take_anyway,   change_user,   limit_users};

    if (any(150) == 0)
        crash();
    else
        steps[any(sizeof(steps) / sizeof(steps[0]))]();
    check_sums();
    start_all();
    check_sums();
}

static void finish_history(void)
{
    for (int i = 0; i < REF_RESOURCES; i++)
        covered[OUT_OF_ORDER] += resources[i]->out_of_order;
    for (int i = 0; i < REF_JOBS; i++) {
        if (!ref.jobs[i].there)
            continue;
        while (lends(i))
            take_back(i);
        admission_ended(a, &w[i], ref.jobs[i].running, 0, ref.now);
        admission_release_locks(a, &w[i], ref.jobs[i].holding, ref.now);
        admission_forget(a, &w[i]);
    }
    check(admission_is_idle(a) && admission_count(a).used == 0, "something is left");
    check(a->classes.count == 0, "a class is left");
    admission_free(a);
}

static void histories(void **state)
{
    const char *n = getenv("HISTORIES"), *first = getenv("SEED");
    const char *san = getenv("VOLT_SAN");
    const uint64_t fewer = san && *san ? 8 : 1; /* as it takes so many times as long */
    const uint64_t count = n ? strtoull(n, NULL, 10) : HISTORIES / fewer;

    (void)state;
    seed = first ? strtoull(first, NULL, 10) : 1;
    for (uint64_t i = 0; i < count; i++, seed++) {
        chance = seed * 2862933555777941757U + 3037000493U;
        for (int k = 0; k < 10; k++)
            (void)any(2);
        begin_history();
        for (int k = 0; k < STEPS; k++)
            step();
        finish_history();
    }
    printf("admission histories=%llu", (unsigned long long)count);
    for (int i = 0; i < COVERED; i++)
        printf(" %s=%llu", covered_names[i], (unsigned long long)covered[i]);
    printf("\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(histories)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

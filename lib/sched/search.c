/* How work finds a worker. Everything here is the owner's, but sched_notify() and
 * sched_unpark(). The protocol between submit and sleep is written down in idle.h. */
#include "base/clock.h"
#include "sched/local.h"

#ifndef STEAL_PASSES
#define STEAL_PASSES 4 /* while a victim is busy with another thief, or has a full slot */
#define PASS_PAUSES  8 /* between two of them */
#endif
#define SPIN_LEAST   1000 /* ns */
#define TURN_NS      250000
#define SEARCH_ON_NS 500000
#ifndef COME_PAUSES
#define COME_PAUSES 1024 /* should the counter stand still */
#endif
#ifndef SPIN_LOOK
#define SPIN_LOOK  16   /* pauses between two looks */
#define SPIN_LOOKS 4096 /* should the clock stand still */
#endif

void sched_init(struct sched *s, struct worker *worker, uint32_t workers, bool stealing,
                uint64_t seed)
{
    inject_init(&s->inject);
    inject_init(&s->spill);
    s->groups = workers ? sched_groups(workers) : 1;
    idle_init(&s->idle, workers < IDLE_MAX_WORKERS ? workers : IDLE_MAX_WORKERS);
    for (uint32_t g = 1; g < s->groups; g++) {
        uint32_t rest = workers - g * IDLE_MAX_WORKERS;
        idle_init(&s->more[g - 1], rest < IDLE_MAX_WORKERS ? rest : IDLE_MAX_WORKERS);
    }
    s->worker = worker;
    s->workers = workers;
    s->stealing = stealing && workers > 1;
    live_init(&s->live);
    vat_u32_init(&s->sentinels, 0);
    vat_u64_init(&s->spawned, 0);
    vat_u64_init(&s->completed, 0);
    vat_u64_init(&s->cancelled, 0);
    vat_u32_init(&s->stop, 0);
    vat_u64_init(&s->last_driver_poll, 0);
    for (uint32_t i = 0; i < workers; i++) {
        struct worker *w = &worker[i];

        w->sched = s;
        w->index = i;
        rng_init(&w->rng, seed, i);
        global_interval_init(&w->global_interval);
        ring_init(&w->ring);
        forks_init(&w->forks);
        w->spin = SPIN_LEAST;
        vat_ptr_init(&w->lifo, NULL);
        vat_u32_init(&w->poll_seq, 0);
        vat_u32_init(&w->searches, 0);
        vat_u32_init(&w->seen_seq, 0);
        vat_u32_init(&w->sought_seq, 0);
        park_init(&w->park);
    }
}

void sched_unpark(struct sched *s, uint32_t i)
{
    if (park_unpark(&s->worker[i].park) && s->driver)
        driver_kick(s->driver);
}

/* The caller's group first: a worker searches there, and will find it, or look for others
 * when it leaves; or one sleeps there. Else any sleeper, whether or not one searches in
 * its group: that one looks round everywhere, but need not have done so since. The
 * barrier of the first claim stands before every look. */
int sched_claim(struct sched *s, struct worker *self)
{
    uint32_t own = self ? self->index / IDLE_MAX_WORKERS : 0;
    struct idle *group = own == 0 ? &s->idle : &s->more[own - 1];
    int i = idle_claim(group);

    if (i < 0 && idle_searchers(group) != 0)
        return -1;
    for (uint32_t k = 1; i < 0 && k < s->groups; k++) {
        own = (own + 1) % s->groups;
        i = idle_claim_any(own == 0 ? &s->idle : &s->more[own - 1]);
    }
    return i < 0 ? -1 : (int)(own * IDLE_MAX_WORKERS) + i;
}

int sched_first_parked(struct sched *s)
{
    for (uint32_t g = 0; g < s->groups; g++) {
        int i = idle_first_parked(g == 0 ? &s->idle : &s->more[g - 1]);
        if (i >= 0)
            return (int)(g * IDLE_MAX_WORKERS) + i;
    }
    return -1;
}

uint32_t sched_parked(const struct sched *s)
{
    uint32_t n = idle_parked(&s->idle);

    for (uint32_t g = 1; g < s->groups; g++)
        n += idle_parked(&s->more[g - 1]);
    return n;
}

uint32_t sched_searchers(const struct sched *s)
{
    uint32_t n = idle_searchers(&s->idle);

    for (uint32_t g = 1; g < s->groups; g++)
        n += idle_searchers(&s->more[g - 1]);
    return n;
}

void worker_overflow(struct worker *w, struct task_chain *chain)
{
    counter_add(&w->count.overflows, 1);
    w->mark = ring_last(&w->ring);
    inject_push(&w->sched->spill, chain);
    sched_notify(w->sched, w);
}

void worker_announce_wanted(struct worker *w, const struct volt_task_type *type)
{
    if (w->sched->hold_ns == 0 || !hold_back(w, hold_expect(w, type)))
        sched_notify(w->sched, w);
}

/* What all of a chain are expected to take; of many there is no need to look at all. */
static uint32_t expect_chain(struct worker *w, const struct task_chain *chain)
{
    uint64_t sum = 0;

    if (w->sched->hold_ns == 0 || idle_busy(vat_u64_load(&w->sched->idle.word, VAT_RLX)))
        return HOLD_NEVER; /* a hint: no wake is likely to be wanted */

    for (const struct volt_task *t = chain->head; t; t = t->next) {
        VAT_RD(&t->next);
        sum += hold_expect(w, t->type);
        if (sum >= w->sched->hold_ns)
            return HOLD_NEVER;
    }
    return (uint32_t)sum;
}

void worker_push_chain(struct worker *w, struct task_chain *chain)
{
    uint32_t expected = w->sched->stealing ? expect_chain(w, chain) : HOLD_NEVER;

    if (ring_push_chain(&w->ring, chain) &&
        (expected == HOLD_NEVER || !hold_back(w, expected)))
        worker_announce(w);
    if (chain->head) /* the newest, as in ring_push() */
        worker_overflow(w, chain);
}

void worker_push_child(struct worker *w, struct volt_task *t)
{
    const struct volt_task_type *type = t->type;

    if (w->children == CHILDREN_MOST) {
        worker_disown(w);
        w->children = CHILDREN_MOST + 1;
    }
    if (w->children > CHILDREN_MOST || !forks_push(&w->forks, t)) {
        worker_push(w, t);
        return;
    }
    w->has_children = true;
    if (w->children++ == 0)
        w->cx->awaits = false;
    worker_announce_one(w, type);
}

void worker_disown(struct worker *w)
{
    struct task_chain chain = {0};

    for (uint32_t i = 0; w->children <= CHILDREN_MOST && i < w->children; i++) {
        struct volt_task *t = forks_take(&w->forks);

        if (t)
            task_chain_push_front(&chain, t);
    }
    if (chain.head)
        worker_push_chain(w, &chain);
}

void worker_flush_oldest(struct worker *w)
{
    struct volt_task *t = forks_steal(&w->forks);

    if (t)
        worker_push(w, t);
}

void worker_flush_forks(struct worker *w)
{
    struct task_chain chain = {0};
    struct volt_task *t;

    while ((t = forks_steal(&w->forks))) /* the oldest first */
        task_chain_push(&chain, t);
    w->children = 0;
    if (chain.head)
        worker_push_chain(w, &chain);
}

/* n tasks were taken from the global queue: the oldest is returned, the others go to the
 * ring. more: some are left there. */
static struct volt_task *taken(struct worker *w, struct volt_task **tasks, uint32_t n,
                               bool more)
{
    counter_add(&w->count.global_batch_fetches, 1);
    if (n > 1) {
        ring_push_many(&w->ring, tasks + 1, n - 1);
        worker_announce(w);
    }
    if (more)
        sched_notify(w->sched, w); /* INJ-1, searching or not */
    worker_fresh_budget(w);
    return tasks[0];
}

struct volt_task *worker_glance(struct worker *w)
{
    struct sched *s = w->sched;
    uint32_t first = ring_first(&w->ring);
    struct volt_task *t;

    w->backlog = false;
    if ((int32_t)(first - w->fetched) < 0)
        return NULL;
    w->fetched = first; /* near by, for places wrap */
    if (inject_take(&s->inject, INJECT_PERIODIC, s->workers, 1, &t, &w->backlog) == 0)
        return NULL;
    return taken(w, &t, 1, w->backlog);
}

/* A thread that submits one task after another writes the queue's cache lines for each. A
 * worker that came for every few of them would have the lines go back and forth, which
 * takes longer than the tasks do. So while several tasks have come since the last time,
 * but few are there now, it lets more come: for as long as lies between two glances. */
static void let_more_come(const struct worker *w)
{
    const struct sched *s = w->sched;
    uint32_t there = inject_len(&s->inject);

    if (w->came < 2 || there == 0 || there >= INJECT_BATCH || inject_visible(&s->spill))
        return;
    for (int i = 0; i < COME_PAUSES; i++) {
        if (clock_ticks() - w->came_at >= w->glance_ticks)
            break;
        vat_pause();
    }
}

/* Among so many what is in the global queue is shared: those that are awake, and have a
 * processor each. What the others are woken for they steal. */
static uint32_t sharers(const struct sched *s)
{
    uint32_t awake = s->workers - sched_parked(s);

    return s->cpus != 0 && awake > s->cpus ? s->cpus : awake;
}

/* What full rings have thrown out comes in turn with what is in the ring: now and then
 * what has come to the ring since, for the most part tasks that have had a poll, goes
 * behind it. Otherwise a ring of tasks that wake themselves would stay full, of the same
 * ones. Returns whether the lane is to be looked at. */
static bool take_turns(struct worker *w)
{
    struct sched *s = w->sched;
    struct task_chain newer = {0};

    if (!inject_visible(&s->spill))
        return true; /* nothing, or the first of it: mark is set anew */
    if (w->clock - w->last_turn < TURN_NS)
        return false;
    w->last_turn = w->clock;
    if (ring_take_newer(&w->ring, w->mark, &newer)) {
        inject_push(&s->spill, &newer);
        sched_notify(s, w); /* INJ-1 */
    }
    return true;
}

struct volt_task *worker_take_global(struct worker *w, enum inject_share share)
{
    struct sched *s = w->sched;
    struct volt_task *got[2 * INJECT_BATCH_MAX];
    uint32_t workers = sharers(s), max, outside;
    bool more, spill_more, turn = share != INJECT_PERIODIC || take_turns(w);
    uint32_t room = ring_room(&w->ring);

    if (share == INJECT_PERIODIC) {
        outside = 1; /* run at once; the next is for the next glance */
        max = turn ? room + 1 : 1;
    } else { /* into the first half only: overflow, of the newer half, cannot undo it */
        uint32_t used = RING_CAPACITY - room;
        outside = max = used < RING_HALF ? RING_HALF - used + 1 : 1;
        let_more_come(w);
    }
    /* Of both lanes, injected work first: neither waits for the other to run dry. */
    uint32_t n = inject_take(&s->inject, share, workers, outside, got, &more);
    w->came = n;
    if (n > 1) {
        w->fetched = ring_last(&w->ring) + n - 1;
        w->came_at = clock_ticks();
    }
    spill_more = false;
    if (turn) {
        n += inject_take(&s->spill, INJECT_IDLE, workers, max - n, got + n, &spill_more);
        w->mark = ring_last(&w->ring) + (n > 1 ? n - 1 : 0);
    }
    return n == 0 ? NULL : taken(w, got, n, more || spill_more);
}

/* One pass over all other workers from a random start on (S-1). */
static struct volt_task *steal_pass(struct worker *w, bool *busy)
{
    struct sched *s = w->sched;
    uint32_t start = rng_below(&w->rng, s->workers);

    *busy = false;
    for (uint32_t k = 0; k < s->workers; k++) {
        uint32_t i = (start + k) % s->workers, n;
        struct volt_task *t;

        if (i == w->index)
            continue;
        switch (ring_steal(&s->worker[i].ring, &w->ring, &t, &n)) {
        case RING_STOLEN:
            counter_add(&w->count.stolen, n);
            counter_add(&w->count.steal_ops, 1);
            return t;
        case RING_BUSY:
            counter_add(&w->count.busy_victims, 1);
            *busy = true;
            break;
        case RING_EMPTY:
            break;
        }
        if (!forks_visible(&s->worker[i].forks))
            continue; /* without the barrier */
        t = forks_steal(&s->worker[i].forks);
        if (t) {
            counter_add(&w->count.stolen, 1);
            counter_add(&w->count.steal_ops, 1);
            return t;
        }
    }
    return NULL;
}

/* A worker whose slot is full, and how many polls it had begun; NULL: none. */
static struct worker *full_slot(struct worker *w, uint32_t *seq)
{
    struct sched *s = w->sched;
    uint32_t start = rng_below(&w->rng, s->workers);

    for (uint32_t k = 0; k < s->workers; k++) {
        struct worker *v = &s->worker[(start + k) % s->workers];

        if (v != w && vat_ptr_load(&v->lifo, VAT_RLX)) {
            *seq = vat_u32_load(&v->poll_seq, VAT_RLX);
            return v;
        }
    }
    return NULL;
}

/* All passes over the rings; then, of last resort, another's slot: but only if its owner
 * has been in one poll all the while, so that two tasks that wake each other are never
 * torn apart. */
static struct volt_task *steal(struct worker *w)
{
    struct worker *full = NULL;
    uint32_t seq = 0;

    for (int pass = 0; pass < STEAL_PASSES; pass++) {
        bool busy;
        struct volt_task *t = steal_pass(w, &busy);

        if (t)
            return t;
        if (pass == 0)
            full = full_slot(w, &seq);
        if (!busy && !full)
            return NULL;
        for (int i = 0; i < PASS_PAUSES; i++)
            vat_pause();
    }
    if (!full || vat_u32_load(&full->poll_seq, VAT_RLX) != seq)
        return NULL;
    struct volt_task *t = vat_ptr_xchg(&full->lifo, NULL, VAT_ACQ);
    if (t) {
        counter_add(&w->count.stolen, 1);
        counter_add(&w->count.steal_ops, 1);
        counter_add(&w->count.lifo_stolen, 1);
    }
    return t;
}

struct volt_task *worker_search(struct worker *w)
{
    struct sched *s = w->sched;

    if (!w->searching)
        w->searching = idle_search_begin(group_of(s, w->index));
    if (w->searching && s->stealing) {
        struct volt_task *t = steal(w);

        if (t)
            return t;
    }
    return worker_take_global(w, INJECT_IDLE);
}

/* Is there anything that w could get? Slots do not count: their owners come to them soon,
 * or sentinels do (F-D4). */
static bool visible(struct worker *w)
{
    struct sched *s = w->sched;

    if (inject_visible(&s->inject) || inject_visible(&s->spill) ||
        ring_len(&w->ring) != 0)
        return true;
    for (uint32_t i = 0; s->stealing && i < s->workers; i++)
        if (ring_len(&s->worker[i].ring) != 0 || forks_visible(&s->worker[i].forks))
            return true;
    return false;
}

/* Since the last call the system has taken the processor from this thread for another
 * one: spinning would keep it from that one. */
static bool crowded(struct worker *w)
{
    uint64_t before = w->preemptions;

    w->preemptions = clock_preemptions();
    return w->preemptions != before;
}

/* Where there are more workers than processors: is one left, when each that is awake has
 * its own? A thread that submits from outside needs it. */
static bool processor_is_left(const struct sched *s)
{
    return s->workers <= s->cpus || s->cpus == 0 ||
           s->workers - sched_parked(s) < s->cpus;
}

/* Descriptors are waited for, and nobody is in the event loop. */
static bool unattended(const struct sched *s)
{
    uint32_t generation;

    return s->driver && driver_has_interest(s->driver) &&
           driver_unattended(s->driver, &generation);
}

/* Searching for a while longer saves the waker a system call, and both a switch. It finds
 * tasks, but no events: a worker goes to the event loop first if nobody is there. */
struct volt_task *worker_spin(struct worker *w)
{
    struct sched *s = w->sched;

    if (!w->searching || s->spin_most == 0 || unattended(s))
        return NULL;
    if (crowded(w) || !processor_is_left(s)) {
        w->spin = SPIN_LEAST;
        return NULL;
    }
    uint64_t end = clock_ns() + w->spin;
    for (int looks = 0; looks < SPIN_LOOKS; looks++) {
        for (int i = 0; i < SPIN_LOOK; i++)
            vat_pause();
        if (visible(w))
            return worker_search(w);
        if (clock_ns() >= end || unattended(s))
            break;
    }
    return NULL;
}

/* Longer next time if that would have found a task, else shorter. */
void worker_spin_learn(struct worker *w, uint64_t away_ns)
{
    uint32_t most = w->sched->spin_most;

    if (away_ns > most || w->by_event)
        w->spin = w->spin > 2 * SPIN_LEAST ? w->spin / 2 : SPIN_LEAST;
    else
        w->spin = w->spin < most / 2 ? w->spin * 2 : most;
    w->by_event = false;
}

/* Does what lies with another worker wait? That one has been in the same poll since the
 * last such look, or its polls are long. */
static bool others_wait(const struct worker *w)
{
    const struct sched *s = w->sched;
    bool wait = false;

    for (uint32_t i = 0; i < s->workers; i++) {
        struct worker *v = &s->worker[i];
        uint32_t seq = vat_u32_load(&v->poll_seq, VAT_RLX);
        bool slow = seq == vat_u32_load(&v->sought_seq, VAT_RLX) ||
                    vat_u64_load(&v->count.avg_ns, VAT_RLX) >= s->hold_ns;

        vat_u32_store(&v->sought_seq, seq, VAT_RLX);
        if (v != w && slow && (ring_len(&v->ring) != 0 || forks_visible(&v->forks)))
            wait = true;
    }
    return wait;
}

/* Where as many workers are awake as there are processors, one more would only take turns
 * with them, and keep what it has stolen while it waits for its turn. So a searcher that
 * has found work may stay one: nobody is woken while it is counted, for it will search
 * again. It leaves the search before a poll that it cannot bound (hold.h), when others
 * have gone to sleep, and when, after a while, one of them does not get on; it is the
 * only one, and a sentinel is there, so that somebody may search for what waits behind a
 * short poll that lasts. */
static bool search_goes_on(struct worker *w, const struct volt_task_type *type)
{
    const struct sched *s = w->sched;

    if (s->cpus == 0 || s->groups > 1 || s->workers < 3 ||
        !idle_one_searches(&s->idle, s->cpus) ||
        vat_u32_load(&s->sentinels, VAT_RLX) == 0)
        return false;
    if (w->apart & WORKER_SEARCHES && w->clock - w->searches_since >= SEARCH_ON_NS) {
        w->searches_since = w->clock;
        w->apart |= WORKER_TIME_NEXT; /* are its own still short? */
        if (others_wait(w))
            return false;
    }
    return hold_expect(w, type) != HOLD_NEVER;
}

void worker_search_found(struct worker *w, const struct volt_task_type *type)
{
    if (!w->searching)
        return;
    if (!search_goes_on(w, type)) {
        worker_search_end(w);
        return;
    }
    w->apart |= WORKER_SEARCHES;
    w->decided = type;
    vat_u32_store(&w->searches, 1, VAT_RLX);
}

/* More are awake than there are processors, and one of them will search. */
bool worker_is_surplus(const struct worker *w)
{
    const struct sched *s = w->sched;

    return !w->searching && s->cpus != 0 && s->groups == 1 &&
           idle_one_searches(&s->idle, s->cpus + 1) &&
           vat_u32_load(&s->sentinels, VAT_RLX) != 0;
}

void worker_search_again(struct worker *w)
{
    w->apart &= ~WORKER_SEARCHES;
    vat_u32_store(&w->searches, 0, VAT_RLX);
}

void worker_search_end(struct worker *w)
{
    if (!w->searching)
        return;
    w->searching = false;
    worker_search_again(w);
    /* The chain (P-3): only as long as there is work, so that one task
     * wakes one worker. */
    struct sched *s = w->sched;
    if (idle_search_end(group_of(s, w->index)) && (s->groups > 1 || visible(w)))
        sched_notify(s, w);
}

struct volt_task *worker_park(struct worker *w)
{
    struct sched *s = w->sched;
    struct task_chain events = {0};
    struct idle *group = group_of(s, w->index);
    bool look = idle_park(group, place_of(w->index), w->searching);

    w->searching = false;
    if (look && visible(w)) {
        /* Back to the search, counted: a thread that published while this worker was the
         * last searcher woke nobody, and relies on the chain for what it does
         * not take. */
        w->searching = idle_unpark(group, place_of(w->index)) || idle_search_begin(group);
        return NULL;
    }
    worker_sleep(w, &events);

    w->searching = idle_unpark(group, place_of(w->index));
    sentinel_call(w);
    struct volt_task *t = task_chain_pop(&events);
    w->by_event = t != NULL;
    if (!t && !w->searching && !w->trim_at)
        counter_add(&w->count.spurious_wakes, 1);
    /* One event: run it, and nobody else need wake. More: the rest may be stolen. */
    if (events.head)
        worker_push_chain(w, &events);
    return t;
}

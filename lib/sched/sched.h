/* The scheduler of one runtime: its workers, their queues, and how work finds a worker.
 *
 *   worker.c   the loop of a worker thread: what runs next, budgets, maintenance
 *   search.c   looking for work elsewhere, and going to sleep when there is none
 *   local.h    a worker's own queues: slot and ring
 *   hold.c     when a wake costs more than it brings
 *   scope.c    children that run inside their parent's poll, or are stolen; forks.h
 *   submit.c   where a token goes: the calling worker's slot or ring, or the global queue
 *   events.c   the worker's side of the driver: polling, leading
 *   sentinel.c sleepers that look after those in long polls
 *   ring, inject, idle, park, global_interval: the parts, each by itself
 *
 * search.c and the parts know neither threads nor the operating system: the models in
 * tests/model run them as they are. */
#ifndef VOLT_SCHED_SCHED_H
#define VOLT_SCHED_SCHED_H

#include "base/rng.h"
#include "driver/driver.h"
#include "sched/forks.h"
#include "sched/idle.h"
#include "sched/inject.h"
#include "sched/global_interval.h"
#include "sched/live.h"
#include "sched/park.h"
#include "sched/ring.h"

#include <sys/types.h>

#define LONG_POLL_NS 100000000 /* from here on a poll is too long, and counted */

#ifndef LIFO_CAP
#define LIFO_CAP 3 /* consecutive polls from the LIFO slot */
#endif
#ifndef CHILDREN_MOST
#define CHILDREN_MOST 16 /* of one poll, on the forks; if there are more, none is */
#endif

/* Written by the worker alone, read by anybody, relaxed. Meanings: struct
 * volt_worker_stats. */
struct counters {
    _Alignas(VOLT_CACHE_LINE) vat_u64 polled;
    vat_u64 spawned, completed, cancelled;
    vat_u64 lifo_hits;
    vat_u64 stolen, steal_ops, busy_victims, lifo_stolen, rescues;
    vat_u64 global_batch_fetches, overflows;
    vat_u64 wakeups, wakeups_skipped;
    vat_u64 parked, spurious_wakes;
    vat_u64 budget_exhausted;
    vat_u64 longest_ns, avg_ns, long_polls;
    vat_ptr longest; /* const struct volt_task_type */
    vat_u32 interval;
    vat_u64 clock;   /* when the worker last looked at it */
    vat_ptr running; /* const struct volt_task_type of the poll, or NULL: idle */
};

/* What a poll of a type takes, by what this worker has measured; hold.h. */
struct expectation {
    const void *type; /* const struct volt_task_type */
    uint32_t ns;
};
#define HOLD_TYPES 16

/* What sets a worker apart from the loop's shortest way: bits of one byte, so that a poll
 * costs one test for all. */
enum worker_apart {
    WORKER_OUT = 1,       /* looking for work elsewhere, or asleep */
    WORKER_HOLDS = 2,     /* hold.c: the ring holds what nobody was told of */
    WORKER_TIME_NEXT = 4, /* the next poll is to be timed */
    WORKER_TIMING = 8,    /* the poll that goes on is being timed */
    WORKER_SEARCHES = 16, /* it polls, and counts as a searcher all the while; search.c */
};

struct worker {
    /* What every poll touches, or every few: one cache line. */
    struct sched *sched;
    struct volt_cx *cx;        /* of the thread that is this worker; worker_main() */
    uint32_t lifo_polls;       /* consecutive ones; LIFO_CAP is the most */
    uint32_t quick, quick_set; /* polls until the next look at the rest; worker.c */
    uint8_t apart;      /* enum worker_apart; 0: polls its own tasks, one after another */
    bool backlog;       /* from outside, at the last glance */
    bool slot_is_child; /* local.h */
    bool has_children;  /* on the forks, outside of polls; or they are stolen */
    uint32_t children;  /* of the poll that goes on, laid on the forks; more: too many */
    uint32_t tick_left, segment_polls, global_left; /* counts of polls, as quick */
    uint64_t ticks;                                 /* clock_ticks() at clock */
    uint64_t glance_ticks; /* of them: no look at the clock before */

    uint32_t index;
    bool searching;   /* counted among the searchers */
    bool by_event;    /* the last sleep was ended by an event, not for a task */
    uint32_t spin;    /* ns before the next sleep */
    uint32_t stride;  /* quick's most */
    uint32_t fetched; /* place in the ring behind what came from outside */
    uint32_t mark;    /* place behind which tasks are newer than the spill lane's */
    uint32_t came;    /* how many these were, */
    uint64_t came_at; /* and when, if more than one: clock_ticks() */
    struct rng rng;

    /* sentinel.c: the owner's, of its sleep */
    bool sentinel, seen_global;
    uint32_t quiet_looks, seen_generation;
    uint64_t next_look; /* usec */

    /* Memory that tasks no longer use goes back: when, in ns, or 0; how many tasks had
     * ended here when it last did. events.c, worker.c */
    uint64_t trim_at, trimmed;

    /* The clock, in ns; worker.c. */
    uint64_t clock, segment_start, last_global, last_glance, last_maintenance;
    uint64_t last_turn;     /* when newer tasks went behind the spill lane's */
    uint64_t last_oldest;   /* when the oldest child went to the ring */
    uint64_t segment_ticks; /* clock_ticks() at segment_start */
    uint64_t preemptions;   /* clock_preemptions() at the last spin */
    struct global_interval global_interval;

    /* hold.c: of the wake that is held back, and of the poll that is timed */
    uint32_t held_ns; /* what its tasks are expected to take */
    uint64_t held_since, timed_since;
    const void *timed;
    uint64_t searches_since; /* ns; WORKER_SEARCHES */
    const void *decided;     /* a type before whose polls it may; NULL: ask anew */

    struct ring ring;
    struct forks forks;
    _Alignas(VOLT_CACHE_LINE) vat_ptr lifo; /* owner rel, rlx; thieves acq */
    vat_u32 poll_seq;                       /* number of polls begun; the owner's, rlx */
    vat_u32 searches;   /* 1: it polls as a searcher; the owner's, rlx */
    vat_u32 seen_seq;   /* poll_seq at a sentinel's last look; sentinels, rlx */
    vat_u32 sought_seq; /* and at one of a worker that polls as a searcher; these, rlx */
    struct park park;
    struct counters count;
    struct expectation expect[HOLD_TYPES]; /* hold.c */
};

struct sched {
    struct heap *heap; /* first: heap_of() */
    /* The global queue, in two lanes: what other threads submit, and what full rings
     * throw out. One lane would let injected work wait behind any backlog (G-7). */
    struct inject inject, spill;
    /* The first 48 workers; each 48 more have a word of their own in `more`. A worker is
     * announced to, searches and sleeps in its own group first; see notify_others(). */
    struct idle idle;
    struct idle *more; /* array of groups - 1 */
    uint32_t groups;
    _Alignas(VOLT_CACHE_LINE) struct worker *worker; /* array */
    uint32_t workers;
    bool stealing;
    uint32_t cpus;          /* that the process has; 0: as many as one likes */
    pid_t process;          /* whose threads the workers are: no forked child's */
    struct driver *driver;  /* NULL (models, unit tests): sleep on the park word only */
    uint32_t spin_most;     /* ns of a searcher before it sleeps; 0: none */
    uint32_t hold_ns;       /* wakes are held back for less than that; 0: never */
    uint64_t sentinel_usec; /* between two looks; 0: none (models, unit tests) */
    vat_u32 stop;           /* workers end; rlx: sched_unpark() follows */
    struct live live;
    /* Above: only read, until the end. Below: written by many. */
    _Alignas(VOLT_CACHE_LINE) vat_u32 sentinels; /* those at it; rlx, see sentinel.c */
    /* Of threads that are no workers. */
    _Alignas(VOLT_CACHE_LINE) vat_u64 spawned, completed, cancelled;
    /* ns; by any worker, relaxed: a rate limit */
    _Alignas(VOLT_CACHE_LINE) vat_u64 last_driver_poll;
};

_Static_assert(offsetof(struct sched, heap) == 0, "heap_of()");

/* Initialises everything but driver, heap, and more, which is set by then (NULL: one
 * group). worker: array of that many, zeroed. */
void sched_init(struct sched *s, struct worker *worker, uint32_t workers, bool stealing,
                uint64_t seed);
static inline uint32_t sched_groups(uint32_t workers)
{
    return (workers + IDLE_MAX_WORKERS - 1) / IDLE_MAX_WORKERS;
}

/* --- search.c ----------------------------------------------------------------------- */

/* Any thread. Wakes worker i whatever it does. */
void sched_unpark(struct sched *s, uint32_t i);

/* Owner thread only. Queues the tokens of a chain at the back of the ring, and announces
 * them. The chain is left empty. */
void worker_push_chain(struct worker *w, struct task_chain *chain);
/* Owner thread only. A task of this type is in the ring, and somebody seems to sleep:
 * tells others of it, or holds that back. */
void worker_announce_wanted(struct worker *w, const struct volt_task_type *type);
/* Owner thread only. Lays a child of the poll that goes on, whose token is owned, on the
 * forks, and announces it. */
void worker_push_child(struct worker *w, struct volt_task *t);
/* Owner thread only. The poll that has laid children there awaits no handle: they go to
 * the ring, announced. */
void worker_disown(struct worker *w);
/* Owner thread only. What lies on the forks goes to the ring, announced. */
void worker_flush_forks(struct worker *w);
/* Owner thread only. The same with the oldest alone. */
void worker_flush_oldest(struct worker *w);
/* Owner thread only. To the global queue, announced: what a full ring has thrown out. */
void worker_overflow(struct worker *w, struct task_chain *chain);

/* Owner thread only. A batch from the global queue: the first task is returned, the rest
 * goes to the ring. NULL: nothing. */
struct volt_task *worker_take_global(struct worker *w, enum inject_share share);
/* Owner thread only, with work of its own. One task that came from outside, or NULL: none
 * may pass those that were fetched to the ring before. w->backlog: more are left. */
struct volt_task *worker_glance(struct worker *w);
/* Owner thread only, with nothing of its own and the global queue just found empty.
 * Steals, or takes from the global queue once more. */
struct volt_task *worker_search(struct worker *w);
/* Owner thread only, after a fruitless search. Looks on for some microseconds, unless
 * others want the processor, or nobody is in the event loop. */
struct volt_task *worker_spin(struct worker *w);
/* Owner thread only, back with work after so long. */
void worker_spin_learn(struct worker *w, uint64_t away_ns);
/* Owner thread only, a searcher that has found work: before each poll, that of a task of
 * this type is next. It leaves the search, or polls as a searcher (WORKER_SEARCHES). */
void worker_search_found(struct worker *w, const struct volt_task_type *type);
/* Owner thread only. Leaves the search, or has left it. */
void worker_search_end(struct worker *w);
/* Owner thread only, with nothing to run. It may sleep at once instead of searching. */
bool worker_is_surplus(const struct worker *w);
/* Owner thread only, which polled as a searcher: it looks for work again. */
void worker_search_again(struct worker *w);
/* Owner thread only, with nothing found. Sleeps until claimed, an event, or shutdown.
 * Returns a task to be run next, or NULL: look again. */
struct volt_task *worker_park(struct worker *w);

/* --- events.c ----------------------------------------------------------------------- */

/* Owner thread only, published as parked. Sleeps as the leader if the event loop is free,
 * else on the park word. What events made runnable goes to chain. */
void worker_sleep(struct worker *w, struct task_chain *chain);
/* Owner thread only. Polls the driver when that is due, and fires timers. */
void worker_poll_events(struct worker *w, uint64_t now_ns);

/* --- sentinel.c --------------------------------------------------------------------- */

/* Owner thread only, published as parked. Becomes a sentinel (w->sentinel) if one is
 * wanted: then it calls sentinel_look() when w->next_look has come. */
void sentinel_begin(struct worker *w, uint64_t now_usec);
/* Owner thread only. True: there is something to do, and the sleep must end. May end
 * w->sentinel. */
bool sentinel_look(struct worker *w, uint64_t now_usec);
/* Owner thread only, a sentinel on its park word. When the next timer should have fired a
 * millisecond ago (UINT64_MAX: there is none), to look then whether one waits for want of
 * anybody in the event loop: the sleep must end. */
uint64_t sentinel_next_timer(const struct worker *w, uint64_t now_usec);
bool sentinel_timer_waits(const struct worker *w, uint64_t now_usec);
/* Owner thread only, at the end of the sleep. */
void sentinel_end(struct worker *w);
/* Owner thread only, no longer published as parked: sees to it that there is a sentinel
 * if somebody sleeps. */
void sentinel_call(struct worker *w);

/* --- worker.c ----------------------------------------------------------------------- */

/* The body of a worker thread: returns when stop is set, or when a task has handed the
 * worker over to another thread. */
void worker_main(struct worker *w);
/* Inside a poll: the calling thread is a worker no more, and another may call
 * worker_main(). worker_resume() takes that back, if none has. */
void worker_quit(struct volt_cx *cx);
void worker_resume(struct volt_cx *cx, struct worker *w);
enum task_ran {
    TASK_RAN,       /* polled; it ended, or waits */
    TASK_RAN_AGAIN, /* polled; woken meanwhile: the caller owns the token */
    TASK_RAN_NOT,   /* cancelled: dropped instead */
};
/* Starts the token's task, and ends it if it is ready or cancelled. Workers and pool
 * threads. */
enum task_ran task_run(struct volt_cx *cx, struct volt_task *t)
    __attribute__((warn_unused_result));
/* RUNNING, on w or, NULL, another thread: drops the state and completes the task.
 * counted: it is among the spawned. */
void task_end(struct worker *w, struct volt_task *t, bool dropped, bool counted);

/* --- submit.c ----------------------------------------------------------------------- */

/* The calling thread's worker, or NULL. */
extern VAT_THREAD_LOCAL struct worker *worker_self;
static inline struct worker *worker_current(void)
{
    return worker_self;
}
static inline void worker_set_current(struct worker *w)
{
    worker_self = w;
}
/* As sched_submit(), by a thread that is no worker of s and keeps the runtime until it
 * returns. */
void sched_inject(struct sched *s, struct volt_task *t);
/* Of a task's runtime; a runtime begins with its scheduler (lib/runtime/runtime.h). */
static inline struct sched *sched_of(struct volt_runtime *rt)
{
    return (struct sched *)(void *)rt;
}

static inline struct idle *group_of(struct sched *s, uint32_t worker)
{
    uint32_t g = worker / IDLE_MAX_WORKERS;

    return g == 0 ? &s->idle : &s->more[g - 1];
}
static inline uint32_t place_of(uint32_t worker)
{
    return worker % IDLE_MAX_WORKERS;
}
/* Any thread. With several groups: idle_claim() over all of them. */
int sched_claim(struct sched *s, struct worker *self);
/* Any thread. Over all groups: the first parked worker or -1; how many are parked; how
 * many search. */
int sched_first_parked(struct sched *s);
uint32_t sched_parked(const struct sched *s);
uint32_t sched_searchers(const struct sched *s);

static inline void counter_add(vat_u64 *c, uint64_t n)
{
#ifndef VOLT_MCX /* of the statistics the models have those of counter_add_at() */
    vat_u64_store(c, vat_u64_load(c, VAT_RLX) + n, VAT_RLX);
#else
    (void)c, (void)n;
#endif
}

/* Any thread; self is the calling worker of s, or NULL. After publishing work: wakes one
 * worker if nobody searches and one sleeps. */
static inline void sched_notify(struct sched *s, struct worker *self)
{
    int i = s->groups == 1 ? idle_claim(&s->idle) : sched_claim(s, self);

    if (self)
        counter_add(i < 0 ? &self->count.wakeups_skipped : &self->count.wakeups, 1);
    if (i >= 0)
        sched_unpark(s, (uint32_t)i);
}

/* By worker w into its own cell, or, NULL, by another thread into the shared one.
 * Release: a thread that reads that a task has completed reads that it was spawned. */
static inline void counter_add_n(struct worker *w, vat_u64 *own, vat_u64 *shared,
                                 uint64_t n)
{
    if (w)
        vat_u64_store(own, vat_u64_load(own, VAT_RLX) + n, VAT_REL);
    else
        (void)vat_u64_add(shared, n, VAT_REL);
}
static inline void counter_add_at(struct worker *w, vat_u64 *own, vat_u64 *shared)
{
    counter_add_n(w, own, shared, 1);
}

#endif

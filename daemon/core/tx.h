/* Sections under the lock on all jobs.
 *
 * A question runs between core_lock() and core_unlock(). A change of a job, a slot or the
 * line runs between core_begin() and dispatch_finish(). Only changes that need no
 * dispatch may use the plain lock: taking a place among early starts (work_find_place()),
 * survivors of SIGKILL, and keys and claims of jobs that are not in the table yet
 * (submit/).
 *
 * Under the lock no task is woken or spawned, no job is freed and nothing is logged:
 * struct tx collects that. dispatch_finish() grants free slots and does what the change
 * means to other jobs (dispatch/dispatcher.h). Then core_end() unlocks, kicks the store,
 * wakes, spawns, frees and notifies.
 *
 * core_end() asserts that all due work is done (core_is_settled()), and that appended
 * facts are kicked. core_unlock() asserts that a question has left nothing to do. */
#ifndef VOLTD_CORE_TX_H
#define VOLTD_CORE_TX_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <volt/task.h>
#include "daemon/core/core.h"
#include "daemon/core/parts.h"
#include "daemon/store/commit_log.h"

#define JOBS_SLICE 64 /* jobs looked at in one hold of the lock */
/* The most tasks that one step of the dispatcher wakes: the elements of an array that it
 * cancels, and the array. */
#define TX_STEP   (JOBS_SLICE + 2)
#define TX_WAKERS (JOBS_SLICE + TX_STEP)

struct job;
struct core;
struct tx;
struct work;

/* [L] Work that the dispatcher, which stands above this room, has left to its task. */
struct dispatcher {
    bool on;                 /* changes are dispatched: voltd has started */
    bool more;               /* work is left: the task runs another portion */
    bool starved;            /* memory was short: the task goes on after a rest */
    uint64_t facts;          /* appended, and not known to be durable */
    uint64_t barriers;       /* begun so far, one after the other: when one is done, all
                              * facts appended before it are durable */
    uint64_t barrier_done;   /* the latest that is done; 0: none */
    bool ends_wait;          /* ended jobs wait for the next one, to leave memory */
    struct volt_waker waker; /* of the task, while it waits */
};

struct tx {
    struct core *core;
    bool kick;  /* the store has something to write */
    bool nudge; /* likewise, and it may wait for more */
    size_t n;
    struct volt_waker wakers[TX_WAKERS + 2]; /* 2 more: the dispatcher and the timer */
    size_t nspawn;
    struct work *spawn[JOBS_SLICE]; /* works that got their slots */
    struct job *garbage;
};

/* Lock held. Charges the quota of this hold, and that of core_charge(). A search for
 * circles counts as one step and has bounds of its own: CIRCLE_LOOKS (circle.h),
 * DEADLOCK_LOOKS (deadlock.h). */
void core_did(struct core *core, size_t entries, size_t bytes, size_t facts);
/* Lock held. Charges the quota of a turn, too, with all work from now on until
 * dispatch_finish() or core_unlock(). NULL: no turn's. */
void core_charge(struct core *core, struct quota *turn);
/* Lock held. Returns whether the quota of this hold, or that of core_charge(), is used
 * up. */
bool core_is_used_up(const struct core *core);

/* Lock held. Makes tasks that wait for news look, though there is no event. */
void core_news_due(struct core *core);
/* Drops the news so far, before there are tasks that could wait for them. */
void core_drop_news(struct core *core);

/* Returns why the store refuses facts other than ends now: store_refusal(). */
static inline int core_refusal(const struct core *core)
{
    return store_refusal(parts_of(core)->store);
}

void core_lock(struct core *core);
void core_unlock(struct core *core);

void core_begin(struct tx *tx, struct core *core);
/* For dispatch_finish() only. */
void core_end(struct tx *tx);
/* Lock held. Returns whether all due work is done, or left to the dispatcher's task. */
bool core_is_settled(const struct core *core);

/* Initialises an empty tx. Without the lock only before there are tasks. */
void tx_init(struct tx *tx, struct core *core);
/* Does what was collected. */
void tx_carry_out(struct tx *tx);
/* Lock held. Wakes the task of the waker, if any; the waker is then empty. */
static inline void tx_wake(struct tx *tx, struct volt_waker *waker)
{
    if (!waker->task)
        return;
    assert(tx->n < sizeof(tx->wakers) / sizeof(tx->wakers[0]));
    tx->wakers[tx->n++] = *waker;
    *waker = (struct volt_waker){0};
}
/* Returns whether there is room for one more step, and one more task. */
bool tx_has_room(const struct tx *tx);

#endif

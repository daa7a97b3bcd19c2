/* Sections under the lock on all jobs.
 *
 * A question takes the lock with core_lock() and lets it go with core_unlock(), and
 * that is all that happens. What changes a job, a slot or the line does so between
 * core_begin() and dispatch_finish(), but for what leaves nothing to be done for others:
 * a place among the jobs that start early (work_find_place()), what SIGKILL has left,
 * keys and claims of jobs that are not in the table yet (submit/). Under the lock no task
 * is woken or spawned, no job is freed, and nothing is logged: that is collected in a
 * struct tx. dispatch_finish() gives free slots away and does what one job's change means
 * to another (dispatch/dispatcher.h); then core_end() unlocks, kicks the store, wakes,
 * spawns, frees and notifies.
 *
 * Before that unlocks it asserts that nothing waits that could go on, and that all that
 * was appended is kicked; core_unlock() asserts that a question has left nothing to be
 * done. */
#ifndef VOLTD_CORE_TX_H
#define VOLTD_CORE_TX_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <volt/task.h>
#include "daemon/core/core.h"
#include "daemon/core/parts.h"
#include "daemon/store/commit_log.h"

#define JOBS_SLICE 64 /* jobs that one hold of the lock looks at */
/* Tasks that one step of the dispatcher wakes at most: of the elements of an array that
 * it cancels, and of the array. */
#define TX_STEP   (JOBS_SLICE + 2)
#define TX_WAKERS (JOBS_SLICE + TX_STEP)

struct job;
struct core;
struct tx;
struct work;

/* What the dispatcher, which stands above this file, has left to its task. [L] */
struct dispatcher {
    bool on;                 /* changes are dispatched: voltd has started */
    bool more;               /* than fits into one portion: its task goes on */
    bool starved;            /* there was no memory: its task goes on after a rest */
    struct volt_waker waker; /* of its task, while that waits to be needed */
};

struct tx {
    struct core *core;
    bool kick;  /* the store has something to write */
    bool nudge; /* the same, but it may wait for more */
    size_t n;
    struct volt_waker wakers[TX_WAKERS + 2]; /* and the dispatcher's and the timer's */
    size_t nspawn;
    struct work *spawn[JOBS_SLICE]; /* they got their slots */
    struct job *garbage;
};

/* Lock held. Counts work done under it. */
static inline void core_did(struct core *core, uint64_t entries, uint64_t bytes,
                            uint64_t facts)
{
    struct core_held *held = parts_of(core)->held;

    held->entries += entries;
    held->bytes += bytes;
    held->facts += facts;
}

/* Lock held. Something has happened that is no event: tasks that wait for news look. */
void core_news_due(struct core *core);
/* Before there is a task that could wait for news: of what has happened so far none is
 * notified. */
void core_drop_news(struct core *core);

/* Why nothing is to be kept now that ends nothing: store_refusal(). */
static inline int core_refusal(const struct core *core)
{
    return store_refusal(parts_of(core)->store);
}

void core_lock(struct core *core);
void core_unlock(struct core *core);

void core_begin(struct tx *tx, struct core *core);
/* For dispatch_finish() alone. */
void core_end(struct tx *tx);
/* Lock held. Nothing waits that could go on, but for what the dispatcher's task goes on
 * with. */
bool core_is_settled(const struct core *core);

/* Nothing is collected yet. For what runs before there is any task, without the lock. */
void tx_init(struct tx *tx, struct core *core);
/* Carries out what was collected. */
void tx_carry_out(struct tx *tx);
/* Lock held. The task that waits by the waker, if one does, is woken; the waker is empty
 * then. */
static inline void tx_wake(struct tx *tx, struct volt_waker *waker)
{
    if (!waker->task)
        return;
    assert(tx->n < sizeof(tx->wakers) / sizeof(tx->wakers[0]));
    tx->wakers[tx->n++] = *waker;
    *waker = (struct volt_waker){0};
}
/* For one more step, and one more task. */
bool tx_has_room(const struct tx *tx);

#endif

/* The global queue, in two stages.
 *
 *   out    first in, first out, under a small lock that is only ever tried, never waited
 *          for: some lists that are filled, and emptied, by turns. The headers are in the
 *          producers' caches; of one list, each would have to come before the next is
 *          known
 *   in     an intrusive stack, newest first, for producers that found the lock taken: one
 *          CAS for a whole chain
 *
 * The next holder of the lock, producer or consumer that finds nothing else, takes the
 * whole stack with one exchange, reverses it and appends it. First in, first out for each
 * producer. Empty means in == NULL and out_len == 0, both readable without the lock.
 * Between the exchange and the store of out_len tasks are invisible; their holder is
 * awake, and rule INJ-1 makes it announce what it leaves: a consumer that leaves tasks
 * behind notifies after unlocking, searching or not, as a producer does anyway.
 *
 * The gate counts the threads inside a submission: a thread that is no worker keeps the
 * runtime's memory by it until its last touch. */
#ifndef VOLT_SCHED_INJECT_H
#define VOLT_SCHED_INJECT_H

#include "base/lock.h"
#include "task/task.h"
#include <volt/runtime.h>

#ifndef INJECT_BATCH_MIN
#define INJECT_BATCH_MIN VOLT_MIN_GLOBAL_QUEUE_BATCH_SIZE
#endif
#ifndef INJECT_BATCH
#define INJECT_BATCH VOLT_GLOBAL_QUEUE_BATCH_SIZE
#endif
#ifndef INJECT_BATCH_MAX
#define INJECT_BATCH_MAX VOLT_MAX_GLOBAL_QUEUE_BATCH_SIZE
#endif
#ifndef INJECT_LISTS
#define INJECT_LISTS 8
#endif
/* Producers hold the lock for some nanoseconds. */
#ifndef INJECT_TRIES
#define INJECT_TRIES 10
#endif

struct inject {
    /* producers: CAS rel; consumers: exchange acq */
    _Alignas(VOLT_CACHE_LINE) vat_ptr in;
    vat_u32 in_len; /* for inject_len() */
    vat_u32 gate;
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects put, got, list */
    vat_u32 out_len;                      /* put - got; relaxed: a hint */
    uint32_t put, got;                    /* how often so far; they wrap */
    struct {
        struct volt_task *head, *tail;
    } list[INJECT_LISTS];
};

/* Why tasks are taken: decides the size of the batch. */
enum inject_share {
    INJECT_PERIODIC, /* own work waits too: a few, so that both make progress */
    INJECT_IDLE,     /* nothing else to do: a fair share of the whole */
};

void inject_init(struct inject *q);

/* Any thread. Queues the tokens of a non-empty chain and empties it. The
 * caller notifies. */
void inject_push(struct inject *q, struct task_chain *chain);

/* Any thread. Stores up to max tasks, the oldest first, and never more than
 * INJECT_BATCH_MAX. Returns how many: 0 when nothing is there or another consumer is at
 * it. *ret_more: some are left, INJ-1 applies. */
uint32_t inject_take(struct inject *q, enum inject_share share, uint32_t workers,
                     uint32_t max, struct volt_task **ret_tasks, bool *ret_more);

/* Any thread. True when something may be taken. */
bool inject_visible(const struct inject *q);
/* Any thread. Length, approximate, for statistics. */
uint32_t inject_len(const struct inject *q);

/* Any thread that is no worker of this runtime, around inject_push() and its notify. */
void inject_enter(struct inject *q);
void inject_leave(struct inject *q);
/* Waits until nobody is inside. */
void inject_drain_users(struct inject *q);

#endif

/* The run queue of one worker: a bounded FIFO ring, one producer, any number of thieves.
 *
 * head packs two positions: steal (upper half) and real (lower). [real, tail) is queued;
 * [steal, real) has been claimed by a thief that is still copying it; steal == real: no
 * theft is going on. Positions run freely and wrap at 2^32; slot = position % capacity.
 * 64 bits rather than the 2 x 16 of the first text: 65,536 operations during one
 * preempted CAS are possible, 2^32 are accepted (C-1).
 *
 *   push   owner   head acq (pairs with a thief's finish: its reads of the slots come
 * before our overwrite), room = capacity - (tail - steal), slot, tail rel pop    owner
 * CAS head, rel: a thief that sees this head must see a tail at least as new, or its tail
 * - head is negative steal  thief   head acq, then tail acq; CAS claims half (ar); copy;
 * CAS steal := the current real (rel), never given up (C-4); own tail rel
 *
 * A second thief is told BUSY, not EMPTY (F-C7): it could release slots that the first
 * one still reads. The thief leaves room in its own ring for what it copies (F-C1):
 * there, too, slots may still be read. Full: the newer half goes to the global queue, the
 * older half keeps its turn (F-C5).
 *
 * Slots are plain memory: positions decide who may touch them. */
#ifndef VOLT_SCHED_RING_H
#define VOLT_SCHED_RING_H

#include "task/task.h"
#include <volt/runtime.h>

#ifndef RING_CAPACITY
#define RING_CAPACITY VOLT_RING_CAPACITY
#endif
#define RING_HALF (RING_CAPACITY / 2)
_Static_assert((RING_CAPACITY & (RING_CAPACITY - 1)) == 0, "positions wrap");

struct ring {
    /* owner and thieves; steal << 32 | real */
    _Alignas(VOLT_CACHE_LINE) vat_u64 head;
    /* written by the owner, read by all */
    _Alignas(VOLT_CACHE_LINE) vat_u32 tail;
    _Alignas(VOLT_CACHE_LINE) struct volt_task *slot[RING_CAPACITY];
};

/* What a theft met. */
enum ring_steal {
    RING_EMPTY,
    RING_STOLEN,
    RING_BUSY, /* another thief is copying: look again later */
};

void ring_init(struct ring *r);

/* Owner thread only. Queues t at the back. False: the ring was full, and chain holds what
 * must go to the global queue instead (t alone, or the newer half and t), oldest first.
 */
bool ring_push(struct ring *r, struct volt_task *t, struct task_chain *chain)
    __attribute__((warn_unused_result));

/* Owner thread only. Moves tasks from the front of the chain to the back of the ring, as
 * many as fit, with one publication. Returns how many. */
uint32_t ring_push_chain(struct ring *r, struct task_chain *chain);

/* Owner thread only. The oldest task or NULL. */
struct volt_task *ring_pop(struct ring *r);

/* Owner thread of dst only. Moves up to half of src; *ret_task is the oldest, to be run
 * now, and *ret_count how many were taken with it. */
enum ring_steal ring_steal(struct ring *src, struct ring *dst,
                           struct volt_task **ret_task, uint32_t *ret_count);

/* Any thread. Tasks that can be popped or stolen: counted from real, not steal (F-C3). */
uint32_t ring_len(const struct ring *r);

/* Owner thread only. How many pushes will fit. */
uint32_t ring_room(const struct ring *r);

#endif

/* The run queue of one worker: a bounded FIFO ring, one producer, any number of thieves.
 *
 * head packs two positions: steal (upper half) and real (lower). [real, tail) is queued;
 * [steal, real) has been claimed by a thief that is still copying it; steal == real: no
 * theft is going on. Positions run freely and wrap at 2^32; slot = position % capacity.
 * 2 x 32 bits rather than 2 x 16: 65,536 operations during one preempted CAS are
 * possible, 2^32 are accepted.
 *
 *   push   owner   head acq (pairs with a thief's finish: its reads of the slots come
 *                  before our overwrite), room = capacity - (tail - steal), slot, tail
 *                  rel
 *   pop    owner   CAS head, rel: a thief that sees this head must see a tail at least as
 *                  new, or its tail - head is negative
 *   newer  owner   head acq, as push; CAS head, rel, as pop: it claims all; the slots of
 *                  what stays, tail rel
 *   steal  thief   head acq, then tail acq; CAS claims half, rel; copy; CAS steal := the
 *                  current real (rel), never given up; own tail rel
 *
 * A second thief is told BUSY, not EMPTY (F-C7): it could release slots that the first
 * one still reads. The thief leaves room in its own ring for what it copies (F-C1):
 * there, too, slots may still be read. Full: the newer half goes to the global queue, the
 * older half keeps its turn (F-C5).
 *
 * Slots are plain memory: positions decide which thread may touch them.
 *
 * A ring that gives its newer tasks away moves the older ones to other positions. An
 * owner that remembers a task does so by its place, which the task keeps: its position
 * less `moved`. Places are in the order of positions, and wrap as these do. */
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
    uint32_t moved; /* the owner's: by so many positions its tasks have been moved */
    _Alignas(VOLT_CACHE_LINE) struct volt_task *slot[RING_CAPACITY];
};

/* What a theft met. */
enum ring_steal {
    RING_EMPTY,
    RING_STOLEN,
    RING_BUSY, /* another thief is copying: look again later */
};

void ring_init(struct ring *r);

/* --- inside; the rest of it is in ring.c -------------------------------------------- */

static inline uint64_t ring_pack(uint32_t steal, uint32_t real)
{
    return (uint64_t)steal << 32 | real;
}

static inline uint32_t ring_steal_of(uint64_t head)
{
    return (uint32_t)(head >> 32);
}

static inline uint32_t ring_real_of(uint64_t head)
{
    return (uint32_t)head;
}

static inline void ring_slot_set(struct ring *r, uint32_t position, struct volt_task *t)
{
    struct volt_task **s = &r->slot[position % RING_CAPACITY];

    VAT_WR(s);
    *s = t;
}

static inline struct volt_task *ring_slot(struct ring *r, uint32_t position)
{
    struct volt_task **s = &r->slot[position % RING_CAPACITY];

    VAT_RD(s);
    return *s;
}

/* Owner thread only. Moves what lies at place `from` and behind it to the end of the
 * chain, oldest first; what is older stays, and keeps its place. Returns false, and has
 * moved nothing, during a theft, or if nothing lies there. */
bool ring_take_newer(struct ring *r, uint32_t from, struct task_chain *chain);

/* Owner thread only. The rest of ring_push(), without room. */
bool ring_overflow(struct ring *r, struct volt_task *t, struct task_chain *chain)
    __attribute__((warn_unused_result));

/* --- operations --------------------------------------------------------------------- */

/* Owner thread only. Queues t at the back. False: the ring was full, and chain holds what
 * must go to the global queue instead (t alone, or the newer half and t), oldest first.
 */
static inline __attribute__((warn_unused_result)) bool
ring_push(struct ring *r, struct volt_task *t, struct task_chain *chain)
{
    uint64_t head = vat_u64_load(&r->head, VAT_ACQ);
    uint32_t tail = vat_u32_load(&r->tail, VAT_RLX);

    if (tail - ring_steal_of(head) >= RING_CAPACITY)
        return ring_overflow(r, t, chain);
    ring_slot_set(r, tail, t);
    vat_u32_store(&r->tail, tail + 1, VAT_REL);
    return true;
}

/* Owner thread only. Moves tasks from the front of the chain to the back of the ring, as
 * many as fit, with one publication. Returns how many. */
uint32_t ring_push_chain(struct ring *r, struct task_chain *chain);
/* Owner thread only. The same with n tasks for which ring_room() has shown room. */
void ring_push_many(struct ring *r, struct volt_task **tasks, uint32_t n);

/* Owner thread only. The oldest task or NULL. */
static inline struct volt_task *ring_pop(struct ring *r)
{
    uint64_t head = vat_u64_load(&r->head, VAT_RLX);
    uint32_t tail = vat_u32_load(&r->tail, VAT_RLX);

    for (;;) {
        uint32_t steal = ring_steal_of(head), real = ring_real_of(head);

        if (real == tail)
            return NULL;
        uint64_t next = ring_pack(steal == real ? real + 1 : steal, real + 1);
        if (vat_u64_cas(&r->head, &head, next, VAT_REL, VAT_RLX)) {
            __builtin_prefetch(r->slot[(real + 1) % RING_CAPACITY], 1); /* if there */
            return ring_slot(r, real);
        }
    }
}

/* Owner thread of dst only. Moves up to half of src; *ret_task is the oldest, to be run
 * now, and *ret_count how many were taken with it. */
enum ring_steal ring_steal(struct ring *src, struct ring *dst,
                           struct volt_task **ret_task, uint32_t *ret_count);

/* Any thread. Tasks that can be popped or stolen: counted from real, not steal (F-C3). */
uint32_t ring_len(const struct ring *r);

/* Owner thread only. The places of the oldest task and behind the newest. */
static inline uint32_t ring_first(const struct ring *r)
{
    return ring_real_of(vat_u64_load(&r->head, VAT_RLX)) - r->moved;
}
static inline uint32_t ring_last(const struct ring *r)
{
    return vat_u32_load(&r->tail, VAT_RLX) - r->moved;
}

/* Owner thread only. Thieves may empty it any time, but nobody else fills it. */
static inline bool ring_empty(const struct ring *r)
{
    return ring_real_of(vat_u64_load(&r->head, VAT_RLX)) ==
           vat_u32_load(&r->tail, VAT_RLX);
}

/* Owner thread only. How many pushes will fit: acquires, as they do. */
uint32_t ring_room(const struct ring *r);

#endif

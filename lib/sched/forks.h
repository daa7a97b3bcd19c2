/* The stack of one worker's forks: children of scopes (scope.c), and below them children
 * that are awaited by handles (local.h), that nobody runs yet.
 *
 * The owner pushes and takes at the bottom, the newest first, so that it goes down the
 * tree and needs no locked operation for a child but one barrier; thieves take from the
 * top, the oldest, which has the largest subtree below it. One at a time: the owner takes
 * by plain stores, and only for the last entry competes with thieves.
 *
 *   push  owner  top acq (a thief's read of the slot comes before our overwrite), slot,
 *                bottom rel
 *   take  owner  1 bottom - 1, rel       steal  thief  1 top
 *                2 barrier                             2 barrier
 *                3 top                                 3 bottom acq
 *                4 the last one: CAS top               4 slot, CAS top
 *
 * Of an owner and a thief at the same entry one sees what the other wrote before its
 * barrier: the thief that the entry is gone, or the owner that it is the last. Positions
 * run freely and wrap; a slot that is read is believed only when the CAS has succeeded.
 * The theft of the last entry is after its push, for bottom is always stored rel. */
#ifndef VOLT_SCHED_FORKS_H
#define VOLT_SCHED_FORKS_H

#include "task/task.h"

#ifndef FORKS_CAPACITY
#define FORKS_CAPACITY 256
#endif
_Static_assert((FORKS_CAPACITY & (FORKS_CAPACITY - 1)) == 0, "positions wrap");

struct forks {
    /* thieves, and the owner for the last entry; CAS sc */
    _Alignas(VOLT_CACHE_LINE) vat_u32 top;
    /* written by the owner, rel; thieves, acq */
    _Alignas(VOLT_CACHE_LINE) vat_u32 bottom;
    vat_ptr slot[FORKS_CAPACITY]; /* owner and thieves, rlx */
};

static inline void forks_init(struct forks *f)
{
    vat_u32_init(&f->top, 0);
    vat_u32_init(&f->bottom, 0);
    for (int i = 0; i < FORKS_CAPACITY; i++)
        vat_ptr_init(&f->slot[i], NULL);
}

/* Any thread. A hint, unless a barrier stands before. */
static inline bool forks_visible(const struct forks *f)
{
    uint32_t top = vat_u32_load(&f->top, VAT_RLX);

    return (int32_t)(vat_u32_load(&f->bottom, VAT_RLX) - top) > 0;
}

/* Owner thread only. False: full. */
static inline __attribute__((warn_unused_result)) bool forks_push(struct forks *f,
                                                                  struct volt_task *t)
{
    uint32_t b = vat_u32_load(&f->bottom, VAT_RLX);

    if (b - vat_u32_load(&f->top, VAT_ACQ) >= FORKS_CAPACITY)
        return false;
    vat_ptr_store(&f->slot[b % FORKS_CAPACITY], t, VAT_RLX);
    vat_u32_store(&f->bottom, b + 1, VAT_REL);
    return true;
}

/* Owner thread only. The newest, or NULL. */
static inline struct volt_task *forks_take(struct forks *f)
{
    uint32_t b = vat_u32_load(&f->bottom, VAT_RLX) - 1;

    vat_u32_store(&f->bottom, b, VAT_REL);
    vat_u32_fence(&f->top);
    uint32_t t = vat_u32_load(&f->top, VAT_RLX);
    struct volt_task *got = NULL;
    if ((int32_t)(b - t) >= 0)
        got = vat_ptr_load(&f->slot[b % FORKS_CAPACITY], VAT_RLX);
    if ((int32_t)(b - t) > 0)
        return got;
    if (b == t && !vat_u32_cas(&f->top, &t, t + 1, VAT_SC, VAT_RLX))
        got = NULL;
    vat_u32_store(&f->bottom, b + 1, VAT_REL);
    return got;
}

/* Any thread. The oldest, or NULL: none. */
static inline struct volt_task *forks_steal(struct forks *f)
{
    uint32_t t = vat_u32_load(&f->top, VAT_RLX);

    for (;;) {
        vat_u32_fence(&f->top);
        if ((int32_t)(vat_u32_load(&f->bottom, VAT_ACQ) - t) <= 0)
            return NULL;
        struct volt_task *got = vat_ptr_load(&f->slot[t % FORKS_CAPACITY], VAT_RLX);
        if (vat_u32_cas(&f->top, &t, t + 1, VAT_SC, VAT_RLX))
            return got;
    }
}

#endif

/* A lock for sections of which some are long, and that one thread may take again and
 * again: one that waits is passed once.
 *
 * vlock, and a mutex of pthread, is free when it is unlocked, and the thread that comes
 * first has it. One that works in portions comes first: another that has slept until the
 * unlock needs some 50 us to be there, and finds the lock taken again, each time. Here
 * those that sleep stand in line. The first unlock wakes the first of them and lets go of
 * the lock; the next one gives the lock to it, there or not. So it waits for the section
 * that it has found, and for one that has begun since.
 *
 * It is not given at the first unlock because two threads with short sections would then
 * wait for the scheduler each time. Rejected for the same reason: tickets. Rejected as
 * well: to give it only to a thread that has come and found it taken; on a machine with
 * more to do than processors hundreds pass until it comes.
 *
 * Zero-initialised is unlocked. The thread sanitizer is told of it as of a vlock. */
#ifndef VOLT_BASE_FAIR_LOCK_H
#define VOLT_BASE_FAIR_LOCK_H

#include "base/list.h"
#include "base/lock.h"

struct fair_lock {
    /* FAIR_*; 0: free, and nobody waits. HELD is set by the thread that takes it free,
     * ACQ, and taken away by fair_unlock(), REL, which pairs with that. Where the lock is
     * given it stays set: the guard, which both take, orders what they do. */
    vat_u32 word;
    vlock guard;
    uint32_t passed;  /* guard: how often the first was woken, and others might pass */
    struct list line; /* guard: those that wait; the first has come first */
};

/* Of the word. */
enum {
    FAIR_HELD = 1,
    FAIR_WAITED = 2, /* somebody is in line; changed with the guard */
};

void fair_lock_slow(struct fair_lock *l);
void fair_unlock(struct fair_lock *l);

static inline void fair_lock(struct fair_lock *l)
{
    uint32_t free = 0;

    VLOCK_TELL(pre_lock, l, __tsan_mutex_linker_init);
    if (!vat_u32_cas(&l->word, &free, FAIR_HELD, VAT_ACQ, VAT_RLX))
        fair_lock_slow(l);
    VLOCK_TELL(post_lock, l, __tsan_mutex_linker_init, 0);
}

#endif

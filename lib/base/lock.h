/* A 4-byte lock for short critical sections: spins briefly, then sleeps on a futex.
 * Zero-initialised is unlocked. Words: 0 free, 1 held, 2 held with sleepers. After
 * U. Drepper, "Futexes Are Tricky" (2011), mutex 2. */
#ifndef VOLT_BASE_LOCK_H
#define VOLT_BASE_LOCK_H

#include "base/atomic.h"

#if defined(VOLT_MCX) && !defined(VLOCK_IN_FULL)
/* vlock and its operations come from mcx_atomic.h; the model of the lock itself has them
 * in full. */
#else

typedef struct {
    vat_u32 word;
} vlock;

void vlock_lock_slow(vlock *l);
void vlock_unlock_slow(vlock *l);

static inline void vlock_lock(vlock *l)
{
    uint32_t free = 0;
    if (!vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX))
        vlock_lock_slow(l);
}

static inline bool vlock_try_lock(vlock *l)
{
    uint32_t free = 0;
    return vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX);
}

static inline void vlock_unlock(vlock *l)
{
    if (vat_u32_xchg(&l->word, 0, VAT_REL) == 2)
        vlock_unlock_slow(l);
}

#endif
#endif

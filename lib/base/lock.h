/* A 4-byte lock for short critical sections: spins briefly, then sleeps on a futex.
 * Zero-initialised is unlocked. Words: 0 free, 1 held, 2 held with sleepers. After
 * U. Drepper, "Futexes Are Tricky" (2011), mutex 2.
 *
 * The thread sanitizer is told of it as of a mutex, so that it reports two locks that are
 * taken in both orders, as it does of those of pthread. */
#ifndef VOLT_BASE_LOCK_H
#define VOLT_BASE_LOCK_H

#include "base/atomic.h"
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#define VLOCK_TELL(what, ...) __tsan_mutex_##what(__VA_ARGS__)
#else
#define VLOCK_TELL(what, ...) ((void)0)
#endif

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

    VLOCK_TELL(pre_lock, l, __tsan_mutex_linker_init);
    if (!vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX))
        vlock_lock_slow(l);
    VLOCK_TELL(post_lock, l, __tsan_mutex_linker_init, 0);
}

static inline bool vlock_try_lock(vlock *l)
{
    uint32_t free = 0;

    VLOCK_TELL(pre_lock, l, __tsan_mutex_linker_init | __tsan_mutex_try_lock);
    bool taken = vat_u32_cas(&l->word, &free, 1, VAT_ACQ, VAT_RLX);
    VLOCK_TELL(post_lock, l,
               __tsan_mutex_linker_init | __tsan_mutex_try_lock |
                   (taken ? 0 : __tsan_mutex_try_lock_failed),
               0);
    return taken;
}

static inline void vlock_unlock(vlock *l)
{
    VLOCK_TELL(pre_unlock, l, 0);
    if (vat_u32_xchg(&l->word, 0, VAT_REL) == 2)
        vlock_unlock_slow(l);
    VLOCK_TELL(post_unlock, l, 0);
}

#endif
#endif

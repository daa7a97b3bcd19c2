/* The fast paths of the semaphore, inlined into it, the mutex and the rwlock: one CAS
 * each way, no lock, no call. sem.c has the design.
 *
 * They are told the permits word, as it was or is guessed, and try once; a failed CAS
 * brings the word as it is. */
#ifndef VOLT_SYNC_SEM_H
#define VOLT_SYNC_SEM_H

#include "sync/waiter.h"

/* The permits word. */
#define SEM_WAITERS UINT64_C(1)
#define SEM_CLOSED  UINT64_C(2)
#define SEM_SHIFT   2

static inline vat_u64 *permits_cell(const struct volt_sem *sem)
{
    return (vat_u64 *)(uintptr_t)&sem->permits;
}

static inline vlock *sem_lock(struct volt_sem *sem)
{
    return (vlock *)(void *)&sem->lock;
}

static inline bool sem_has(uint64_t s, uint64_t n)
{
    return !(s & (SEM_WAITERS | SEM_CLOSED)) && s >> SEM_SHIFT >= n;
}

static inline bool sem_has_room(const struct volt_sem *sem, uint64_t s, uint64_t n)
{
    return !(s & SEM_WAITERS) && n <= sem->max - (s >> SEM_SHIFT);
}

/* Any thread: n permits at once, or nothing. */
static inline bool sem_take_at(struct volt_sem *sem, uint64_t *s, uint64_t n)
{
    return sem_has(*s, n) &&
           vat_u64_cas(permits_cell(sem), s, *s - (n << SEM_SHIFT), VAT_ACQ, VAT_RLX);
}

/* Any thread: gives n permits if nobody waits and there is room. */
static inline bool sem_give_at(struct volt_sem *sem, uint64_t *s, uint64_t n)
{
    return sem_has_room(sem, *s, n) &&
           vat_u64_cas(permits_cell(sem), s, *s + (n << SEM_SHIFT), VAT_REL, VAT_RLX);
}

/* volt_sem_try_acquire(), volt_sem_release(); volt_sem_acquire_poll() after a try. */
bool sem_take(struct volt_sem *sem, uint64_t n);
int sem_give(struct volt_sem *sem, uint64_t n);
enum volt_poll sem_acquire_slow(struct volt_cx *cx, struct volt_sem_acquire *a,
                                const char *name);

/* The poll of a leaf, for n permits. tries: 2 where s is a guess that may well
 * be wrong. name: what the leaf is called in the records of watched tasks. */
static inline enum volt_poll sem_acquire_at(struct volt_cx *cx,
                                            struct volt_sem_acquire *a, uint64_t s,
                                            uint64_t n, unsigned tries, const char *name)
{
    if (a->waiter.state == WAITER_NEW && cx->budget > 0) {
        if (sem_take_at(a->sem, &s, n) || (tries > 1 && sem_take_at(a->sem, &s, n))) {
            cx->budget--;
            return VOLT_READY; /* still WAITER_NEW: it has nothing to give back */
        }
    }
    return sem_acquire_slow(cx, a, name);
}

#endif

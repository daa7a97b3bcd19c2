/* The fast paths of the semaphore, inlined into it, the mutex and the rwlock: one CAS each
 * way, no lock, no call. sem.c has the design. */
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

/* Any thread: n permits at once, or nothing. s: the word, as it was or is guessed. */
static inline bool sem_take_from(struct volt_sem *sem, uint64_t s, uint64_t n)
{
    while (!(s & (SEM_WAITERS | SEM_CLOSED)) && s >> SEM_SHIFT >= n) {
        if (vat_u64_cas(permits_cell(sem), &s, s - (n << SEM_SHIFT), VAT_ACQ, VAT_RLX))
            return true;
    }
    return false;
}

static inline bool sem_take(struct volt_sem *sem, uint64_t n)
{
    return sem_take_from(sem, vat_u64_load(permits_cell(sem), VAT_RLX), n);
}

/* Any thread: gives n permits to the waiters, or there is no room for them. */
int sem_give_slow(struct volt_sem *sem, uint64_t n);

/* Any thread. As volt_sem_release(); s as above. */
static inline int sem_give_to(struct volt_sem *sem, uint64_t s, uint64_t n)
{
    while (!(s & SEM_WAITERS) && n <= sem->max - (s >> SEM_SHIFT)) {
        if (vat_u64_cas(permits_cell(sem), &s, s + (n << SEM_SHIFT), VAT_REL, VAT_RLX))
            return 0;
    }
    return sem_give_slow(sem, n);
}

static inline int sem_give(struct volt_sem *sem, uint64_t n)
{
    return sem_give_to(sem, vat_u64_load(permits_cell(sem), VAT_RLX), n);
}

enum volt_poll sem_acquire_slow(struct volt_cx *cx, struct volt_sem_acquire *a);

/* The poll of a leaf; s as above. */
static inline enum volt_poll sem_acquire_from(struct volt_cx *cx,
                                              struct volt_sem_acquire *a, uint64_t s)
{
    if (a->waiter.state == WAITER_NEW && cx->budget > 0 &&
        sem_take_from(a->sem, s, a->waiter.requested)) {
        cx->budget--;
        a->waiter.state = WAITER_DONE;
        return VOLT_READY;
    }
    return sem_acquire_slow(cx, a);
}

#endif

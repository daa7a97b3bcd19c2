/* The mutex: a semaphore of one permit. The word of one that is free, or locked
 * without waiters, is known: the fast paths need not read it first. */
#include "sync/sem.h"

#define FREE   (UINT64_C(1) << SEM_SHIFT)
#define LOCKED UINT64_C(0)

void volt_mutex_init(struct volt_mutex *m)
{
    volt_sem_init(&m->sem, 1, 1);
}

void volt_mutex_fini(struct volt_mutex *m)
{
    volt_sem_fini(&m->sem);
}

bool volt_mutex_try_lock(struct volt_mutex *m)
{
    uint64_t s = FREE;

    return sem_take_at(&m->sem, &s, 1);
}

void volt_mutex_unlock(struct volt_mutex *m)
{
    uint64_t s = LOCKED;
    int r = 0;

    if (!vat_u64_cas(permits_cell(&m->sem), &s, FREE, VAT_REL, VAT_RLX))
        r = sem_give(&m->sem, 1);
    assert(r == 0 && "it was not locked");
    (void)r;
}

enum volt_poll volt_mutex_lock_poll(struct volt_cx *cx, struct volt_mutex_lock *l)
{
    return sem_acquire_at(cx, &l->acquire, FREE, 1, 1, "volt_mutex_lock");
}

void volt_mutex_lock_fini(struct volt_mutex_lock *l)
{
    volt_sem_acquire_fini(&l->acquire);
}

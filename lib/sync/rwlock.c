/* The rwlock: a semaphore of VOLT_RWLOCK_MAX_READS permits; a reader takes one, a writer
 * all. First come, first served then gives what is promised: a queued writer holds
 * what the readers give back, so later readers queue behind it. */
#include <assert.h>
#include <volt/sync.h>

void volt_rwlock_init(struct volt_rwlock *l)
{
    volt_sem_init(&l->sem, VOLT_RWLOCK_MAX_READS, VOLT_RWLOCK_MAX_READS);
}

void volt_rwlock_fini(struct volt_rwlock *l)
{
    volt_sem_fini(&l->sem);
}

bool volt_rwlock_try_read(struct volt_rwlock *l)
{
    return volt_sem_try_acquire(&l->sem, 1);
}

bool volt_rwlock_try_write(struct volt_rwlock *l)
{
    return volt_sem_try_acquire(&l->sem, VOLT_RWLOCK_MAX_READS);
}

void volt_rwlock_read_init(struct volt_rwlock_acquire *a, struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, 1);
}

void volt_rwlock_write_init(struct volt_rwlock_acquire *a, struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, VOLT_RWLOCK_MAX_READS);
}

enum volt_poll volt_rwlock_poll(struct volt_cx *cx, struct volt_rwlock_acquire *a)
{
    return volt_sem_acquire_poll(cx, &a->acquire);
}

void volt_rwlock_acquire_fini(struct volt_rwlock_acquire *a)
{
    volt_sem_acquire_fini(&a->acquire);
}

static void unlock(struct volt_rwlock *l, uint64_t permits)
{
    int r = volt_sem_release(&l->sem, permits);

    assert(r == 0); /* it was not held so */
    (void)r;
}

void volt_rwlock_read_unlock(struct volt_rwlock *l)
{
    unlock(l, 1);
}

void volt_rwlock_write_unlock(struct volt_rwlock *l)
{
    unlock(l, VOLT_RWLOCK_MAX_READS);
}

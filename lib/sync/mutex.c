/* The mutex: a semaphore of one permit. */
#include <assert.h>
#include <volt/sync.h>

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
    return volt_sem_try_acquire(&m->sem, 1);
}

void volt_mutex_unlock(struct volt_mutex *m)
{
    int r = volt_sem_release(&m->sem, 1);

    assert(r == 0); /* it was not locked */
    (void)r;
}

void volt_mutex_lock_init(struct volt_mutex_lock *l, struct volt_mutex *m)
{
    volt_sem_acquire_init(&l->acquire, &m->sem, 1);
}

enum volt_poll volt_mutex_lock_poll(struct volt_cx *cx, struct volt_mutex_lock *l)
{
    return volt_sem_acquire_poll(cx, &l->acquire);
}

void volt_mutex_lock_fini(struct volt_mutex_lock *l)
{
    volt_sem_acquire_fini(&l->acquire);
}

/* The rwlock: a semaphore of VOLT_RWLOCK_MAX_READS permits; a reader takes one, a writer
 * all. First come, first served then gives what is promised: a queued writer holds
 * what the readers give back, so later readers queue behind it. */
#include "sync/sem.h"

/* The words of a free lock and of one with a single reader, guesses of the fast paths: a
 * wrong one costs a failed CAS, which brings the line here for the next. */
#define FREE       (VOLT_RWLOCK_MAX_READS << SEM_SHIFT)
#define ONE_READER ((VOLT_RWLOCK_MAX_READS - 1) << SEM_SHIFT)
#define WRITTEN    UINT64_C(0)

#define LEAF "volt_rwlock_acquire"

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
    return sem_take(&l->sem, 1);
}

bool volt_rwlock_try_write(struct volt_rwlock *l)
{
    return sem_take(&l->sem, VOLT_RWLOCK_MAX_READS);
}

enum volt_poll volt_rwlock_acquire_poll(struct volt_cx *cx, struct volt_rwlock_acquire *a)
{
    if (a->acquire.waiter.requested == 1) /* a reader: all of its words are constants */
        return sem_acquire_at(cx, &a->acquire, FREE, 1, 2, LEAF);
    return sem_acquire_at(cx, &a->acquire, FREE, VOLT_RWLOCK_MAX_READS, 1, LEAF);
}

void volt_rwlock_acquire_fini(struct volt_rwlock_acquire *a)
{
    volt_sem_acquire_fini(&a->acquire);
}

void volt_rwlock_read_unlock(struct volt_rwlock *l)
{
    uint64_t s = ONE_READER;
    int r = sem_give_at(&l->sem, &s, 1) || sem_give_at(&l->sem, &s, 1)
                ? 0
                : sem_give(&l->sem, 1);

    assert(r == 0 && "it was not held so");
    (void)r;
}

void volt_rwlock_write_unlock(struct volt_rwlock *l)
{
    uint64_t s = WRITTEN;
    int r = sem_give_at(&l->sem, &s, VOLT_RWLOCK_MAX_READS)
                ? 0
                : sem_give(&l->sem, VOLT_RWLOCK_MAX_READS);

    assert(r == 0 && "it was not held so");
    (void)r;
}

/* While somebody waits the counter stands at 0 and the oldest waiter tells how it is
 * held: what a writer still needs is what readers hold, unless it needs all (F-E8). */
static uint64_t permits_out(const struct volt_rwlock *l)
{
    uint64_t s = vat_u64_load(permits_cell(&l->sem), VAT_RLX);
    const struct volt_waiter *oldest = l->sem.tail;

    if (!oldest)
        return VOLT_RWLOCK_MAX_READS - (s >> SEM_SHIFT);
    return oldest->requested > 1 ? oldest->need : VOLT_RWLOCK_MAX_READS;
}

void volt_rwlock_inspect(struct volt_rwlock *l, struct volt_rwlock_info *ret)
{
    struct volt_rwlock_info info = {.writer = false};
    uint64_t out;

    vlock_lock(sem_lock(&l->sem));
    out = permits_out(l);
    for (const struct volt_waiter *w = l->sem.head; w; w = w->next) {
        if (w->requested > 1)
            info.writers_waiting++;
        else
            info.readers_waiting++;
    }
    vlock_unlock(sem_lock(&l->sem));
    info.writer = out == VOLT_RWLOCK_MAX_READS;
    info.readers = info.writer ? 0 : (uint32_t)out;
    *ret = info;
}

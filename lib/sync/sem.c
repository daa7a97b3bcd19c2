/* The semaphore: mutex and rwlock are thin layers over it.
 *
 * The permits word: bit 0 WAITERS (somebody is queued), bit 1 CLOSED, the count above.
 *   WAITERS  set by the queueing acquirer, cleared by the thread that serves the last;
 *            lock held
 *   CLOSED   set by volt_sem_close, lock held; never cleared
 *   count    CASed by anybody while WAITERS is clear; 0 while it is set (INV-6)
 * Because the bit lies in the word that release CASes, no permit slips into the counter
 * past a waiter, and without waiters neither side takes the lock.
 *
 * Acquire, slow: lock first, then drain what there is in one CAS that also sets WAITERS,
 * and queue for the rest. While WAITERS stands only the lock's holder changes the word:
 * a second waiter need not touch it, and the last that is served leaves by a store.
 * Permits that a queued waiter has already are its own; serving is strictly oldest first,
 * so a large request is not starved by small ones.
 *
 * A leaf that is dropped gives back what it has, granted but unseen included (F-E3), and
 * serves the others with it in the same critical section (F-E5): at no time does the
 * counter hold permits while somebody waits.
 *
 * Orders: taking permits is an acquire, giving them back a release, so what the last
 * holder wrote is visible to the next; through a queue the lock and `granted` do it. */
#include "sync/sem.h"

#include <errno.h>

/* Before it queues, an acquirer looks a few times more: what it waits for is mostly a
 * short critical section on another core. And once tasks queue for a lock that all of
 * them take again and again, first come, first served makes every hand-over a task switch
 * until the queue has run dry, which it may never do. So it looks often: one look in two
 * fails although the section is short.
 *
 * How long it is worth to look is learnt: `spin` grows with each success and is halved by
 * each failure, so where holders sleep, or there is one worker only, hardly anything is
 * spent. A lost update does no harm. */
#ifndef SEM_SPIN_MAX
#define SEM_SPIN_MIN 16
#define SEM_SPIN_MAX 1024 /* pauses, in all */
#endif
/* Pauses between two looks, and after a lost CAS: meanwhile another core has the line to
 * itself, and gets many sections done instead of one. */
#ifndef SEM_BACKOFF
#define SEM_BACKOFF 16
#endif

void volt_sem_init(struct volt_sem *sem, uint64_t permits, uint64_t max)
{
    assert(permits <= max && max <= VOLT_SEM_MAX);
    *sem = (struct volt_sem){.max = max, .spin = SEM_SPIN_MAX / 4};
    vat_u64_init(permits_cell(sem), permits << SEM_SHIFT);
}

void volt_sem_fini(struct volt_sem *sem)
{
    assert(!sem->tail);
    (void)sem;
}

uint64_t volt_sem_available(const struct volt_sem *sem)
{
    return vat_u64_load(permits_cell(sem), VAT_RLX) >> SEM_SHIFT;
}

static uint64_t look_again(struct volt_sem *sem)
{
    for (int i = 0; i < SEM_BACKOFF; i++)
        vat_pause();
    return vat_u64_load(permits_cell(sem), VAT_RLX);
}

bool sem_take(struct volt_sem *sem, uint64_t n)
{
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);

    while (!sem_take_at(sem, &s, n)) {
        if (!sem_has(s, n))
            return false;
        s = look_again(sem);
    }
    return true;
}

bool volt_sem_try_acquire(struct volt_sem *sem, uint64_t n)
{
    return sem_take(sem, n);
}

/* Lock held. Gives k permits to the waiters, oldest first, the rest to the counter.
 * -EOVERFLOW: there was no room for all of the rest. */
static int serve(struct volt_sem *sem, uint64_t k, struct task_chain *chain)
{
    uint64_t s, count, next;
    int r = 0;

    while (sem->tail && k > 0) {
        struct volt_waiter *w = sem->tail;
        uint64_t part;

        VAT_WR(&w->who);
        part = k < w->need ? k : w->need;
        w->need -= part;
        k -= part;
        if (w->need > 0)
            return 0;
        waiter_unlink(&sem->head, &sem->tail, w);
        waiter_grant(w, GRANT_YES, chain);
    }
    if (sem->tail)
        return 0;
    s = vat_u64_load(permits_cell(sem), VAT_RLX);
    do {
        count = s >> SEM_SHIFT;
        r = k > sem->max - count ? -EOVERFLOW : 0;
        count = r < 0 ? sem->max : count + k;
        next = count << SEM_SHIFT | (s & SEM_CLOSED);
        if (s & SEM_WAITERS) { /* the word is the lock holder's */
            vat_u64_store(permits_cell(sem), next, VAT_REL);
            break;
        }
    } while (!vat_u64_cas(permits_cell(sem), &s, next, VAT_REL, VAT_RLX));
    return r;
}

/* There are waiters, or there is no room. */
static int give_locked(struct volt_sem *sem, uint64_t n)
{
    struct task_chain chain = {0};
    int r;

    vlock_lock(sem_lock(sem));
    r = serve(sem, n, &chain);
    vlock_unlock(sem_lock(sem));
    sched_submit_chain(&chain);
    return r;
}

int sem_give(struct volt_sem *sem, uint64_t n)
{
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);

    while (!sem_give_at(sem, &s, n)) {
        if (!sem_has_room(sem, s, n))
            return give_locked(sem, n);
        s = look_again(sem);
    }
    return 0;
}

int volt_sem_release(struct volt_sem *sem, uint64_t n)
{
    return sem_give(sem, n);
}

void volt_sem_close(struct volt_sem *sem)
{
    struct task_chain chain = {0};
    uint64_t back = 0;

    vlock_lock(sem_lock(sem));
    (void)vat_u64_or(permits_cell(sem), SEM_CLOSED, VAT_RLX);
    while (sem->tail) {
        struct volt_waiter *w = sem->tail;

        waiter_unlink(&sem->head, &sem->tail, w);
        back += w->requested - w->need;
        waiter_grant(w, GRANT_CLOSED, &chain);
    }
    (void)serve(sem, back, &chain); /* nobody is queued: to the counter, bit cleared */
    vlock_unlock(sem_lock(sem));
    sched_submit_chain(&chain);
}

static vat_u32 *spin_cell(struct volt_sem *sem)
{
    return (vat_u32 *)(void *)&sem->spin;
}

/* True: n permits were taken before anybody had to queue. */
static bool spin(struct volt_sem *sem, uint64_t n)
{
    uint32_t limit = vat_u32_load(spin_cell(sem), VAT_RLX);
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);

    for (uint32_t done = 0; done < limit; done += SEM_BACKOFF) {
        if (s & (SEM_WAITERS | SEM_CLOSED))
            return false;
        s = look_again(sem);
        if (sem_take_at(sem, &s, n)) {
            if (limit < SEM_SPIN_MAX)
                vat_u32_store(spin_cell(sem), limit + limit / 4 + 1, VAT_RLX);
            return true;
        }
    }
    if (limit > SEM_SPIN_MIN)
        vat_u32_store(spin_cell(sem), limit / 2, VAT_RLX);
    return false;
}

/* The first poll, slow. True: acquired or closed; false: queued. */
static bool take_or_queue(struct volt_sem *sem, struct volt_waiter *w,
                          struct volt_task *who)
{
    uint64_t s, n = w->requested;
    bool done = true;

    if (spin(sem, n))
        return true;
    vlock_lock(sem_lock(sem));
    s = vat_u64_load(permits_cell(sem), VAT_RLX);
    for (;;) {
        uint64_t count = s >> SEM_SHIFT;

        if (s & SEM_CLOSED) {
            vat_u32_store(waiter_grant_cell(w), GRANT_CLOSED, VAT_RLX);
            break;
        }
        if (count >= n) { /* then nobody is queued */
            if (vat_u64_cas(permits_cell(sem), &s, s - (n << SEM_SHIFT), VAT_ACQ,
                            VAT_RLX))
                break;
        } else if (s == SEM_WAITERS ||
                   vat_u64_cas(permits_cell(sem), &s, SEM_WAITERS, VAT_ACQ, VAT_RLX)) {
            w->need = n - count;
            waiter_link(&sem->head, &sem->tail, w, who);
            done = false;
            break;
        }
    }
    vlock_unlock(sem_lock(sem));
    return done;
}

/* By its maximum: the layers over it have no other mark. */
static const char *leaf_name(const struct volt_sem *sem)
{
    if (sem->max == VOLT_RWLOCK_MAX_READS)
        return "volt_rwlock_acquire";
    return sem->max == 1 ? "volt_mutex_lock" : "volt_sem_acquire";
}

enum volt_poll sem_acquire_slow(struct volt_cx *cx, struct volt_sem_acquire *a)
{
    struct volt_waiter *w = &a->waiter;
    bool done = true;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (w->state == WAITER_NEW) {
        done = take_or_queue(a->sem, w, cx->task);
        if (!done)
            leaf_waits(cx, leaf_name(a->sem), a);
    } else if (w->state == WAITER_QUEUED) {
        done = waiter_seen(cx, sem_lock(a->sem), w, a);
    }
    if (!done) {
        cx_restore(cx);
        return VOLT_PENDING;
    }
    w->state = WAITER_DONE;
    return VOLT_READY;
}

enum volt_poll volt_sem_acquire_poll(struct volt_cx *cx, struct volt_sem_acquire *a)
{
    return sem_acquire_at(cx, a, vat_u64_load(permits_cell(a->sem), VAT_RLX),
                          a->waiter.requested, 1);
}

int volt_sem_acquire_status(const struct volt_sem_acquire *a)
{
    return vat_u32_load(waiter_grant_cell(&a->waiter), VAT_RLX) == GRANT_CLOSED
               ? -ECANCELED
               : 0;
}

void volt_sem_acquire_fini(struct volt_sem_acquire *a)
{
    struct task_chain chain = {0};
    struct volt_waiter *w = &a->waiter;
    struct volt_sem *sem = a->sem;
    uint64_t back = 0;

    if (w->state == WAITER_QUEUED) {
        leaf_left(w->who, a);
        vlock_lock(sem_lock(sem));
        switch (vat_u32_load(waiter_grant_cell(w), VAT_RLX)) {
        case GRANT_NONE:
            waiter_unlink(&sem->head, &sem->tail, w);
            back = w->requested - w->need;
            break;
        case GRANT_YES:
            back = w->requested;
            break;
        default: /* closed: has nothing any more */
            break;
        }
        (void)serve(sem, back, &chain);
        vlock_unlock(sem_lock(sem));
        sched_submit_chain(&chain);
    }
    w->state = WAITER_DONE;
}

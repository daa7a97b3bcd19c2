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
 * Tasks that take a lock again and again in one poll would never empty a queue that one
 * holder without a processor has filled: each that is served comes back, finds the
 * others, and queues behind them, so that each acquisition costs a task switch from then
 * on. So a waiter is one of two kinds: a returner, which this semaphore has served from
 * its queue in the same poll, or a newcomer. While a newcomer waits all are served in
 * order. When permits come and only returners wait, the queue is dissolved: nobody is
 * served, and all are woken in order to acquire as if nobody waited. In that poll they
 * have not been served, so who has to queue then is a newcomer: it loses its place once.
 * struct volt_waiter.newcomer is the invocation of the newest newcomer when the waiter
 * queued; the queue's head tells whether one is left.
 *
 * A leaf that is dropped gives back what it has, granted but unseen included (F-E3), and
 * serves the others with it in the same critical section (F-E5): at no time does the
 * counter hold permits while somebody waits.
 *
 * Orders: taking permits is an acquire, giving them back a release, so what the last
 * holder wrote is visible to the next; through a queue the lock and `granted` do it. */
#include "sync/sem.h"

#include "base/clock.h"

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
#define SEM_SPIN_MIN   16
#define SEM_SPIN_MAX   4096 /* pauses, in all */
#define SEM_SPIN_FIRST 256  /* as in VOLT_SEM_INIT */
#endif
#define SEM_LOOKS 16 /* at least, once `spin` has grown: one in two is in vain */
/* Where sections have been short so far, and long looking is in vain all the same, the
 * holder has lost its processor within one. Were all that come meanwhile to queue, each
 * acquisition would cost a task switch from then on. While nobody has queued they step
 * back instead: other tasks are polled before they look again. A value of `spin` above
 * SEM_SPIN_MAX says so, and how often they still may, all together; and none does so for
 * more than half a millisecond. If it was in vain, holders sleep, and nobody looks for
 * long from then on. */
#ifndef SEM_STEPS
#define SEM_STEPS 16384
#endif
#define SEM_BACK_NS 500000
/* Pauses before the first look, and after a lost CAS: another core has the line to itself
 * meanwhile, and gets many sections done instead of one. If its section is not over by
 * then it has more of them to do: later looks, each of which takes the line away, are
 * farther apart. Not the first one, or tasks that work for a microsecond inside would
 * wait in vain. But where looking has been worth it so often that `spin` has grown, all
 * looks are as far apart as leaves SEM_LOOKS of them: each core then gets some hundred
 * sections done before the line moves. */
#ifndef SEM_BACKOFF
#define SEM_BACKOFF      16
#define SEM_BACKOFF_MOST 64
#endif

void volt_sem_init(struct volt_sem *sem, uint64_t permits, uint64_t max)
{
    assert(permits <= max && max <= VOLT_SEM_MAX && "too many permits");
    *sem = (struct volt_sem){.max = max, .spin = SEM_SPIN_FIRST};
    vat_u64_init(permits_cell(sem), permits << SEM_SHIFT);
}

void volt_sem_fini(struct volt_sem *sem)
{
    assert(!sem->tail && "somebody still waits");
    (void)sem;
}

uint64_t volt_sem_available(const struct volt_sem *sem)
{
    return vat_u64_load(permits_cell(sem), VAT_RLX) >> SEM_SHIFT;
}

static uint64_t look_again(struct volt_sem *sem, uint32_t pauses)
{
    for (uint32_t i = 0; i < pauses; i++)
        vat_pause();
    return vat_u64_load(permits_cell(sem), VAT_RLX);
}

bool sem_take(struct volt_sem *sem, uint64_t n)
{
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);

    while (!sem_take_at(sem, &s, n)) {
        if (!sem_has(s, n))
            return false;
        s = look_again(sem, SEM_BACKOFF);
    }
    return true;
}

bool volt_sem_try_acquire(struct volt_sem *sem, uint64_t n)
{
    return sem_take(sem, n);
}

/* Lock held. Takes all waiters out of the queue and tells them why. Returns the permits
 * that they had already. */
static __attribute__((cold)) uint64_t
dismiss_all(struct volt_sem *sem, enum waiter_grant why, struct task_chain *chain)
{
    uint64_t back = 0;

    while (sem->tail) {
        struct volt_waiter *w = sem->tail;

        waiter_unlink(&sem->head, &sem->tail, w);
        back += w->requested - w->need;
        waiter_grant(w, why, chain);
    }
    return back;
}

/* Lock held. Queues w. */
static void queue(struct volt_sem *sem, struct volt_waiter *w, struct volt_task *task,
                  bool returner)
{
    waiter_link(&sem->head, &sem->tail, w, task);
    if (!returner)
        w->newcomer = w->invocation;
    else
        w->newcomer = w->next ? w->next->newcomer : w->invocation - 1;
}

/* Lock held, somebody waits: are all that do returners? The oldest is asked first:
 * it is about to be touched anyway, and the newest is in another's cache. */
static bool only_returners(const struct volt_sem *sem)
{
    const struct volt_waiter *oldest = sem->tail;

    return oldest->newcomer != oldest->invocation &&
           (int32_t)(oldest->invocation - sem->head->newcomer) > 0;
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

        if (only_returners(sem)) {
            k += dismiss_all(sem, GRANT_RETRY, chain);
            break;
        }
        VAT_WR(&w->task);
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
        s = look_again(sem, SEM_BACKOFF);
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
    uint64_t back;

    vlock_lock(sem_lock(sem));
    (void)vat_u64_or(permits_cell(sem), SEM_CLOSED, VAT_RLX);
    back = dismiss_all(sem, GRANT_CLOSED, &chain);
    (void)serve(sem, back, &chain); /* nobody is queued: to the counter, bit cleared */
    vlock_unlock(sem_lock(sem));
    sched_submit_chain(&chain);
}

static vat_u32 *spin_cell(struct volt_sem *sem)
{
    return (vat_u32 *)(void *)&sem->spin;
}

static void learn_success(struct volt_sem *sem, uint32_t limit)
{
    uint32_t longer = limit + limit / 4 + 1;

    if (limit < SEM_SPIN_MAX)
        vat_u32_store(spin_cell(sem), longer < SEM_SPIN_MAX ? longer : SEM_SPIN_MAX,
                      VAT_RLX);
}

static void learn_failure(struct volt_sem *sem, uint32_t limit)
{
    if (limit >= SEM_SPIN_MAX / 2)
        vat_u32_store(spin_cell(sem), SEM_SPIN_MAX + SEM_STEPS, VAT_RLX);
    else if (limit > SEM_SPIN_MIN)
        vat_u32_store(spin_cell(sem), limit / 2, VAT_RLX);
}

/* While all step back: one look. */
static bool take_back(struct volt_sem *sem, uint64_t n)
{
    if (!sem_take(sem, n))
        return false;
    vat_u32_store(spin_cell(sem), SEM_SPIN_FIRST, VAT_RLX);
    return true;
}

/* True: what w requests was taken before anybody had to queue. */
static bool spin(struct volt_sem *sem, struct volt_waiter *w)
{
    uint32_t limit = vat_u32_load(spin_cell(sem), VAT_RLX);
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);
    uint32_t pauses;

    if (limit > SEM_SPIN_MAX)
        return take_back(sem, w->requested);
    for (uint32_t done = 0; done < limit; done += pauses) {
        pauses = done == 0 ? SEM_BACKOFF : SEM_BACKOFF_MOST;
        if (pauses < limit / SEM_LOOKS)
            pauses = limit / SEM_LOOKS;
        if (s & (SEM_WAITERS | SEM_CLOSED))
            return false;
        s = look_again(sem, pauses);
        if (sem_take_at(sem, &s, w->requested)) {
            learn_success(sem, limit);
            return true;
        }
    }
    learn_failure(sem, limit);
    return false;
}

/* True: w has not queued; its task is polled again, behind others. */
static bool step_back(struct volt_cx *cx, struct volt_sem *sem, struct volt_waiter *w)
{
    uint32_t left = vat_u32_load(spin_cell(sem), VAT_RLX);
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX);

    uint64_t now;

    if (left <= SEM_SPIN_MAX || s & (SEM_WAITERS | SEM_CLOSED))
        return false;
    now = clock_ns();
    if (w->state == WAITER_NEW)
        w->need = now + SEM_BACK_NS; /* until then */
    if (left == SEM_SPIN_MAX + 1 || now >= w->need) {
        vat_u32_store(spin_cell(sem), SEM_SPIN_MIN, VAT_RLX);
        return false;
    }
    vat_u32_store(spin_cell(sem), left - 1, VAT_RLX);
    w->state = WAITER_BACK;
    volt_cx_wake(cx);
    return true;
}

/* Until it has queued. True: acquired or closed; false: queued, or stepped back. */
static bool take_or_queue(struct volt_cx *cx, struct volt_sem *sem, struct volt_waiter *w)
{
    uint64_t s = vat_u64_load(permits_cell(sem), VAT_RLX), n = w->requested;
    bool done = true;

    if (!(s & (SEM_WAITERS | SEM_CLOSED))) { /* else the two would find that, too */
        if (spin(sem, w))
            return true;
        if (step_back(cx, sem, w))
            return false;
    }
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
            queue(sem, w, cx->task, cx->served == sem);
            done = false;
            break;
        }
    }
    vlock_unlock(sem_lock(sem));
    return done;
}

/* w was sent out of the queue. False: it is new again. */
static __attribute__((cold, noinline)) bool retry(struct volt_sem *sem,
                                                  struct volt_waiter *w)
{
    if (sem_take(sem, w->requested))
        return true;
    w->state = WAITER_NEW;
    return false;
}

/* w was queued when it was last polled. True: acquired or closed. False: it still waits,
 * or is new again. */
static bool served(struct volt_cx *cx, struct volt_sem *sem, struct volt_waiter *w,
                   const struct volt_sem_acquire *a)
{
    if (!waiter_seen(cx, sem_lock(sem), w, a))
        return false;
    if (vat_u32_load(waiter_grant_cell(w), VAT_RLX) == GRANT_RETRY)
        return retry(sem, w);
    cx->served = sem;
    return true;
}

enum volt_poll sem_acquire_slow(struct volt_cx *cx, struct volt_sem_acquire *a,
                                const char *name)
{
    struct volt_waiter *w = &a->waiter;
    bool done = true;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (w->state == WAITER_QUEUED)
        done = served(cx, a->sem, w, a);
    if (w->state == WAITER_NEW || w->state == WAITER_BACK) {
        done = take_or_queue(cx, a->sem, w);
        if (w->state == WAITER_QUEUED)
            leaf_waits(cx, name, a);
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
                          a->waiter.requested, 1, "volt_sem_acquire");
}

int volt_sem_acquire_status(const struct volt_sem_acquire *a)
{
    return vat_u32_load(waiter_grant_cell(&a->waiter), VAT_RLX) == GRANT_CLOSED ? -EPIPE
                                                                                : 0;
}

void volt_sem_acquire_fini(struct volt_sem_acquire *a)
{
    struct task_chain chain = {0};
    struct volt_waiter *w = &a->waiter;
    struct volt_sem *sem = a->sem;
    uint64_t back = 0;

    if (w->state == WAITER_QUEUED) {
        leaf_left(w->task, a);
        vlock_lock(sem_lock(sem));
        switch (vat_u32_load(waiter_grant_cell(w), VAT_RLX)) {
        case GRANT_NONE:
            waiter_unlink(&sem->head, &sem->tail, w);
            back = w->requested - w->need;
            break;
        case GRANT_YES:
            back = w->requested;
            break;
        default: /* closed, or to retry: has nothing any more */
            break;
        }
        (void)serve(sem, back, &chain);
        vlock_unlock(sem_lock(sem));
        sched_submit_chain(&chain);
    }
    w->state = WAITER_DONE;
}

/* Notify: a wake that is not lost.
 *
 * The state word:
 *   EMPTY    nobody waits, nothing is left     } changed into each other by CAS,
 *   PERMIT   nobody waits, one wake is left    } without the lock
 *   WAITING  somebody is queued: entered and left with the lock held
 * notify_all also counts a generation up; a leaf remembers the one of its birth, so it
 * sees a notify_all that came before its first poll. */
#include "sync/waiter.h"

enum {
    EMPTY = 0,
    PERMIT,
    WAITING,
};

static vat_u32 *state_cell(struct volt_notify *n)
{
    return (vat_u32 *)(void *)&n->state;
}

static vat_u64 *generation_cell(struct volt_notify *n)
{
    return (vat_u64 *)(void *)&n->generation;
}

static vlock *lock_of(struct volt_notify *n)
{
    return (vlock *)(void *)&n->lock;
}

void volt_notify_init(struct volt_notify *n)
{
    *n = (struct volt_notify){.head = NULL};
}

void volt_notify_fini(struct volt_notify *n)
{
    assert(!n->tail && "somebody still waits");
    (void)n;
}

/* Lock held or not. False: somebody waits. */
static bool leave_permit(struct volt_notify *n)
{
    uint32_t s = vat_u32_load(state_cell(n), VAT_RLX);

    while (s != WAITING) {
        /* An RMW even on PERMIT: its taker must see what this caller wrote. */
        if (vat_u32_cas(state_cell(n), &s, PERMIT, VAT_REL, VAT_RLX))
            return true;
    }
    return false;
}

static bool take_permit(struct volt_notify *n)
{
    uint32_t s = vat_u32_load(state_cell(n), VAT_RLX);

    return s == PERMIT && vat_u32_cas(state_cell(n), &s, EMPTY, VAT_ACQ, VAT_RLX);
}

/* Lock held; afterwards the state tells the list again. */
static void unlink_waiter(struct volt_notify *n, struct volt_waiter *w)
{
    waiter_unlink(&n->head, &n->tail, w);
    if (!n->tail)
        vat_u32_store(state_cell(n), EMPTY, VAT_RLX);
}

/* Lock held. */
static void notify_one_locked(struct volt_notify *n, struct task_chain *chain)
{
    struct volt_waiter *w = n->tail;

    if (leave_permit(n))
        return;
    unlink_waiter(n, w);
    waiter_grant(w, GRANT_YES, chain);
}

void volt_notify_one(struct volt_notify *n)
{
    struct task_chain chain = {0};

    if (leave_permit(n))
        return;
    vlock_lock(lock_of(n));
    notify_one_locked(n, &chain);
    vlock_unlock(lock_of(n));
    sched_submit_chain(&chain);
}

void volt_notify_all(struct volt_notify *n)
{
    struct task_chain chain = {0};

    vlock_lock(lock_of(n));
    (void)vat_u64_add(generation_cell(n), 1, VAT_REL);
    while (n->tail) {
        struct volt_waiter *w = n->tail;

        unlink_waiter(n, w);
        waiter_grant(w, GRANT_ALL, &chain);
    }
    vlock_unlock(lock_of(n));
    sched_submit_chain(&chain);
}

void volt_notified_init(struct volt_notified *w, struct volt_notify *n)
{
    *w = (struct volt_notified){
        .notify = n,
        .generation = vat_u64_load(generation_cell(n), VAT_RLX),
    };
}

static bool notified_already(struct volt_notified *w)
{
    return vat_u64_load(generation_cell(w->notify), VAT_ACQ) != w->generation ||
           take_permit(w->notify);
}

/* The first poll. True: notified; false: queued. */
static bool take_or_queue(struct volt_notified *w, struct volt_task *task)
{
    struct volt_notify *n = w->notify;
    bool done;

    assert(n && "the leaf is not initialised");
    if (notified_already(w))
        return true;
    vlock_lock(lock_of(n));
    for (;;) {
        uint32_t s = EMPTY;

        done = notified_already(w);
        if (done || vat_u32_cas(state_cell(n), &s, WAITING, VAT_RLX, VAT_RLX) ||
            s == WAITING)
            break;
    }
    if (!done)
        waiter_link(&n->head, &n->tail, &w->waiter, task);
    vlock_unlock(lock_of(n));
    return done;
}

enum volt_poll volt_notified_poll(struct volt_cx *cx, struct volt_notified *w)
{
    bool done = true;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (w->waiter.state == WAITER_NEW) {
        done = take_or_queue(w, cx->task);
        if (!done)
            leaf_waits(cx, "volt_notified", w);
    } else if (w->waiter.state == WAITER_QUEUED) {
        done = waiter_seen(cx, lock_of(w->notify), &w->waiter, w);
    }
    if (!done) {
        cx_restore(cx);
        return VOLT_PENDING;
    }
    w->waiter.state = WAITER_DONE;
    return VOLT_READY;
}

void volt_notified_fini(struct volt_notified *w)
{
    struct task_chain chain = {0};
    struct volt_notify *n = w->notify;

    if (w->waiter.state == WAITER_QUEUED) {
        leaf_left(w->waiter.task, w);
        vlock_lock(lock_of(n));
        switch (vat_u32_load(waiter_grant_cell(&w->waiter), VAT_RLX)) {
        case GRANT_NONE:
            unlink_waiter(n, &w->waiter);
            break;
        case GRANT_YES: /* meant for somebody, and not seen */
            notify_one_locked(n, &chain);
            break;
        default:
            break;
        }
        vlock_unlock(lock_of(n));
        sched_submit_chain(&chain);
    }
    w->waiter.state = WAITER_DONE;
}

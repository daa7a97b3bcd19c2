/* Waiters: intrusive nodes in the leaf futures, so that waiting allocates nothing.
 *
 * What may touch a node: before it is queued, its future. Queued: the holder of the
 * primitive's lock. Once `granted` is set: its future again, without the lock.
 *
 * Granting is, under the lock: 1 unlink, 2 notify the task (a token that is ours goes to
 * a chain), 3 store granted, the last touch; the chain is submitted after unlocking. 1
 * before 3, or the future could be gone while it is linked (F-E1). 2 before 3, or the
 * task could be gone when it is notified (F-E2): until granted is stored it cannot drop
 * the future without the lock, and once we own its token it cannot run. No reference is
 * counted.
 *
 * The price: between 2 and 3 a poll elsewhere can use the notification up without seeing
 * granted. So "still pending" is only decided under the lock (waiter_granted). */
#ifndef VOLT_SYNC_WAITER_H
#define VOLT_SYNC_WAITER_H

#include "base/lock.h"
#include "task/leaves.h"

#include <assert.h>
#include <volt/sync.h>

_Static_assert(sizeof(vat_u32) == sizeof(uint32_t), "public structs hold cells");
_Static_assert(sizeof(vat_u64) == sizeof(uint64_t), "public structs hold cells");
_Static_assert(sizeof(vlock) == sizeof(uint32_t), "public structs hold locks");

/* struct volt_waiter.state: what the future knows; only it looks. */
enum waiter_state {
    WAITER_NEW = 0, /* not polled yet */
    WAITER_BACK,    /* polled, not queued yet: sem.c */
    WAITER_QUEUED,  /* linked, or granted and not yet seen */
    WAITER_DONE,    /* the grant was seen; nothing to give back */
};

/* struct volt_waiter.granted: what the granter says, rel. The future reads it acq, or
 * under the lock. */
enum waiter_grant {
    GRANT_NONE = 0,
    GRANT_YES,
    GRANT_CLOSED, /* semaphore: refused for ever */
    GRANT_ALL,    /* notify, broadcast: one of many */
    GRANT_RETRY,  /* semaphore: nothing is granted, and it is out of the queue */
};

static inline vat_u32 *waiter_grant_cell(const struct volt_waiter *w)
{
    return (vat_u32 *)(uintptr_t)&w->granted;
}

/* Lock held. The newest is the head, the oldest the tail. */
static inline void waiter_link(struct volt_waiter **head, struct volt_waiter **tail,
                               struct volt_waiter *w, struct volt_task *task)
{
    VAT_WR(&w->task);
    w->task = task;
    w->state = WAITER_QUEUED;
    vat_u32_store(waiter_grant_cell(w), GRANT_NONE, VAT_RLX);
    w->prev = NULL;
    w->next = *head;
    /* Ascending from the tail; 0 outside a list: tells a stale node from a queued one. */
    w->invocation = *head ? (*head)->invocation + 1 : 1;
    if (w->invocation == 0)
        w->invocation = 1;
    if (*head)
        (*head)->prev = w;
    else
        *tail = w;
    *head = w;
}

/* Lock held; w is linked. */
static inline void waiter_unlink(struct volt_waiter **head, struct volt_waiter **tail,
                                 struct volt_waiter *w)
{
    VAT_WR(&w->task);
    assert(w->invocation != 0 &&
           (!w->next || (int32_t)(w->invocation - w->next->invocation) > 0) &&
           "initialised or freed without its _fini");
    if (w->prev)
        w->prev->next = w->next;
    else
        *head = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        *tail = w->prev;
    w->prev = w->next = NULL;
    w->invocation = 0;
}

/* Lock held; w is unlinked. Afterwards w is its future's. */
static inline void waiter_grant(struct volt_waiter *w, enum waiter_grant grant,
                                struct task_chain *chain)
{
    struct volt_task *task = w->task;

    if (task_notify(task))
        task_chain_push(chain, task);
    vat_u32_store(waiter_grant_cell(w), grant, VAT_REL);
}

/* The future, queued. GRANT_NONE: still pending, and the next grant will
 * wake the task. */
static inline enum waiter_grant waiter_granted(vlock *lock, struct volt_waiter *w,
                                               const struct volt_task *task)
{
    uint32_t g = vat_u32_load(waiter_grant_cell(w), VAT_ACQ);

    assert(w->task == task && "a leaf that waits stays in one task until its _fini");
    (void)task;
    if (g == GRANT_NONE) {
        vlock_lock(lock);
        g = vat_u32_load(waiter_grant_cell(w), VAT_RLX);
        vlock_unlock(lock);
    }
    if (g != GRANT_NONE)
        VAT_WR(&w->task);
    return (enum waiter_grant)g;
}

/* The same by the poll of the leaf that w is in. False: still pending. */
static inline bool waiter_seen(struct volt_cx *cx, vlock *lock, struct volt_waiter *w,
                               const void *leaf)
{
    if (waiter_granted(lock, w, cx->task) == GRANT_NONE)
        return false;
    leaf_seen(cx, leaf);
    return true;
}

#endif

/* The wait group: a count, and those that wait for its 0.
 *
 * The count goes down without the lock as long as it stays above 0. The last step, from 1
 * to 0, is made with the lock held, and a wait finds the 0 with the lock held only: so
 * the group is its waiter's again once the lock is free, and the last one to be done,
 * whose unlock is its last touch of it, need not be waited for.
 *
 * What was written before a step above 0 the last step acquires from the count; that of
 * the last step itself, and its 0 and its grants, the lock orders. */
#include "sync/waiter.h"

#include <volt/wait_group.h>

static vat_u64 *count_cell(struct volt_wait_group *g)
{
    return (vat_u64 *)(void *)&g->count;
}

static vlock *lock_of(struct volt_wait_group *g)
{
    return (vlock *)(void *)&g->lock;
}

void volt_wait_group_init(struct volt_wait_group *g, uint64_t count)
{
    *g = (struct volt_wait_group){.count = 0};
    vat_u64_init(count_cell(g), count);
}

void volt_wait_group_fini(struct volt_wait_group *g)
{
    assert(!g->tail && "somebody still waits");
    (void)g;
}

void volt_wait_group_add(struct volt_wait_group *g, uint64_t n)
{
    (void)vat_u64_add(count_cell(g), n, VAT_RLX);
}

/* Lock held. */
static void grant_all(struct volt_wait_group *g, struct task_chain *chain)
{
    while (g->tail) {
        struct volt_waiter *w = g->tail;

        waiter_unlink(&g->head, &g->tail, w);
        waiter_grant(w, GRANT_YES, chain);
    }
}

void volt_wait_group_done(struct volt_wait_group *g)
{
    struct task_chain chain = {0};
    uint64_t n = vat_u64_load(count_cell(g), VAT_RLX);

    assert(n > 0 && "more was done than was added");
    while (n > 1)
        if (vat_u64_cas(count_cell(g), &n, n - 1, VAT_REL, VAT_RLX))
            return;
    vlock_lock(lock_of(g));
    if (vat_u64_sub(count_cell(g), 1, VAT_ACQ) == 1)
        grant_all(g, &chain);
    vlock_unlock(lock_of(g));
    sched_submit_chain(&chain);
}

/* The first poll. False: queued. */
static bool done_or_queue(struct volt_wait_group_wait *w, struct volt_task *task)
{
    struct volt_wait_group *g = w->group;
    bool done;

    vlock_lock(lock_of(g));
    done = vat_u64_load(count_cell(g), VAT_RLX) == 0;
    if (!done)
        waiter_link(&g->head, &g->tail, &w->waiter, task);
    vlock_unlock(lock_of(g));
    return done;
}

/* It is queued, or was. Looks with the lock held: when that is free the one that granted
 * is done with the group. */
static bool is_granted(struct volt_wait_group_wait *w)
{
    struct volt_wait_group *g = w->group;
    bool granted;

    vlock_lock(lock_of(g));
    granted = vat_u32_load(waiter_grant_cell(&w->waiter), VAT_RLX) != GRANT_NONE;
    vlock_unlock(lock_of(g));
    return granted;
}

enum volt_poll volt_wait_group_wait_poll(struct volt_cx *cx,
                                         struct volt_wait_group_wait *w)
{
    bool done = true;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (w->waiter.state == WAITER_NEW) {
        done = done_or_queue(w, cx->task);
        if (!done)
            leaf_waits(cx, "volt_wait_group_wait", w);
    } else if (w->waiter.state == WAITER_QUEUED) {
        assert(w->waiter.task == cx->task &&
               "a leaf that waits stays in one task until its _fini");
        done = is_granted(w);
        if (done)
            leaf_seen(cx, w);
    }
    if (!done) {
        cx_restore(cx);
        return VOLT_PENDING;
    }
    w->waiter.state = WAITER_DONE;
    return VOLT_READY;
}

void volt_wait_group_wait_fini(struct volt_wait_group_wait *w)
{
    struct volt_wait_group *g = w->group;

    if (w->waiter.state == WAITER_QUEUED) {
        leaf_left(w->waiter.task, w);
        vlock_lock(lock_of(g));
        if (vat_u32_load(waiter_grant_cell(&w->waiter), VAT_RLX) == GRANT_NONE)
            waiter_unlink(&g->head, &g->tail, &w->waiter);
        vlock_unlock(lock_of(g));
    }
    w->waiter.state = WAITER_DONE;
}

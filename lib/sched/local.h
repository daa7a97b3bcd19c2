/* A worker's own queues, slot and ring: what every spawn, wake and poll goes through, and
 * therefore inline. Owner thread only, all of it.
 *
 * The slot holds the newest task, which runs next, while what its waker wrote is in the
 * cache. Only the owner fills it, rel; a thief may empty it, so a taker exchanges:
 * the thief acquires, the owner takes out what it has written itself. What lies there is
 * not announced: the worker itself is coming (L-2).
 *
 * A task may be taken from the slot LIFO_CAP times in a row. Then it goes to the back of
 * the ring, where thieves see it, too (L-4); unless the ring is empty: nobody has waited,
 * and a pair that wakes each other would only be torn apart. */
#ifndef VOLT_SCHED_LOCAL_H
#define VOLT_SCHED_LOCAL_H

#include "sched/hold.h"

/* Work in the ring is for others only where they may steal. */
static inline void worker_announce(struct worker *w)
{
    if (w->sched->stealing)
        sched_notify(w->sched, w);
}

/* The same for one task of this type, which may be gone by now. */
static inline void worker_announce_one(struct worker *w,
                                       const struct volt_task_type *type)
{
    struct sched *s = w->sched;

    if (!s->stealing)
        return;
    if (s->groups > 1 || idle_wanted(&s->idle))
        worker_announce_wanted(w, type);
    else
        counter_add(&w->count.wakeups_skipped, 1);
}

/* Queues an owned token at the back of the ring, and announces it. Not in line: the loop
 * and spawning would keep registers free for what they seldom do. */
static __attribute__((noinline, unused)) void worker_push(struct worker *w,
                                                          struct volt_task *t)
{
    struct task_chain excess = {0};
    const struct volt_task_type *type = t->type;

    if (ring_push(&w->ring, t, &excess))
        worker_announce_one(w, type);
    else
        worker_overflow(w, &excess);
}

/* Queues an owned token in the slot; the one that was there goes to the ring. */
static inline void worker_schedule(struct worker *w, struct volt_task *t)
{
    if (w->lifo_polls < LIFO_CAP || ring_empty(&w->ring)) {
        if (!vat_ptr_load(&w->lifo, VAT_RLX)) {
            vat_ptr_store(&w->lifo, t, VAT_REL);
            return;
        }
        t = vat_ptr_xchg(&w->lifo, t, VAT_REL);
        if (!t)
            return;
    }
    worker_push(w, t);
}

/* The budget of a poll is inherited through the slot only. */
static inline void worker_fresh_budget(struct worker *w)
{
    w->lifo_polls = 0;
    w->cx->budget = VOLT_BUDGET_PER_POLL;
}

/* What is next of the worker's own, or NULL. */
static inline struct volt_task *worker_local(struct worker *w)
{
    struct volt_task *t = NULL;

    if (vat_ptr_load(&w->lifo, VAT_RLX)) {
        t = vat_ptr_xchg(&w->lifo, NULL, VAT_RLX);
        if (t && w->lifo_polls < LIFO_CAP && w->cx->budget > 0) {
            w->lifo_polls++;
            counter_add(&w->count.lifo_hits, 1);
            return t;
        }
    }
    worker_fresh_budget(w);
    if (t && ring_empty(&w->ring))
        return t;
    if (t)
        worker_push(w, t);
    return ring_pop(&w->ring);
}

#endif

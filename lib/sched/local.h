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
 * and a pair that wakes each other would only be torn apart.
 *
 * Children: tasks that a poll has spawned with handles and then awaits. The newest is in
 * the slot, the others lie on the forks (forks.h): the owner takes the newest first, as
 * calls would run, so that a tree of them holds memory for its depth and not for its
 * width; thieves take the oldest, which has most below it. A poll that ends without
 * awaiting a handle has its tasks moved to the ring, and so has one that spawns many:
 * thieves take half of a ring at once, and from the forks one at a time. Children count
 * as polls of the slot do, so they pass nobody in the ring more than LIFO_CAP times; and
 * every millisecond the oldest goes to the ring, so that new ones do not pass it for
 * ever. */
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

/* Queues an owned token in the slot; the one that was there goes to the ring, a child to
 * the forks. is_child: the poll that goes on has spawned it, with a handle. */
static inline void worker_schedule_as(struct worker *w, struct volt_task *t,
                                      bool is_child)
{
    if (w->lifo_polls < LIFO_CAP || ring_empty(&w->ring)) {
        bool was_child = w->slot_is_child;

        w->slot_is_child = is_child;
        if (!vat_ptr_load(&w->lifo, VAT_RLX)) {
            vat_ptr_store(&w->lifo, t, VAT_REL);
            return;
        }
        t = vat_ptr_xchg(&w->lifo, t, VAT_REL);
        if (!t)
            return;
        is_child = was_child;
    }
    if (is_child && w->cx->depth == 0) /* else the forks are the scope's */
        worker_push_child(w, t);
    else
        worker_push(w, t);
}

static inline void worker_schedule(struct worker *w, struct volt_task *t)
{
    worker_schedule_as(w, t, false);
}

static inline void worker_schedule_child(struct worker *w, struct volt_task *t)
{
    worker_schedule_as(w, t, true);
}

/* The budget of a poll is inherited through the slot only. */
static inline void worker_fresh_budget(struct worker *w)
{
    w->lifo_polls = 0;
    w->cx->budget = VOLT_BUDGET_PER_POLL;
}

/* The newest child, unless it is the ring's turn; or NULL. */
static inline struct volt_task *worker_take_child(struct worker *w)
{
    struct volt_task *t;

    if (w->lifo_polls >= LIFO_CAP && !ring_empty(&w->ring))
        return NULL;
    t = forks_take(&w->forks);
    w->has_children = t != NULL;
    if (!t)
        return NULL;
    w->lifo_polls++;
    w->cx->budget = VOLT_BUDGET_PER_POLL;
    return t;
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
    } else if (w->has_children) {
        t = worker_take_child(w);
        if (t)
            return t;
    }
    worker_fresh_budget(w);
    if (t && ring_empty(&w->ring))
        return t;
    if (t)
        worker_push(w, t);
    return ring_pop(&w->ring);
}

#endif

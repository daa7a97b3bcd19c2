/* The leaves on which each task waits, for VOLT_DEBUG=leaves.
 *
 * A task of a watched runtime has a record behind its state, in the same slot. A leaf
 * enters itself when it begins to wait; it is taken out when its task has seen the end of
 * that, by an event or without one, and by its _fini; a handle that was given up when
 * what it joins had ended, at the task's next look at the record. So mistakes that
 * otherwise hang mutely have a name:
 *
 *   a leaf that is in the record when the task's drop has run was forgotten: its node
 *   stays linked in memory that is about to be another task's
 *   a poll that is pending, with an empty record, no wake and no waker, was the last
 *   a timer that is new, and in the record, was initialised while it waited
 *
 * A runtime is watched or not for all of its life: heap.extra. Where it is not, nothing
 * is recorded, and what waits pays for a test of volt_cx.watched. */
#ifndef VOLT_TASK_LEAVES_H
#define VOLT_TASK_LEAVES_H

#include "task/slab.h"

#define LEAVES_MOST 8 /* of a task that waits on more, the others are not watched */

struct leaf {
    const char *name; /* static: that of its struct, perhaps a space and more */
    const void *at;
};

struct leaves {
    vlock lock; /* protects the rest */
    uint32_t count;
    uint64_t made_ns;  /* volt_task_new() */
    uint64_t since_ns; /* the last poll that was pending; its worker's clock */
    struct leaf leaf[LEAVES_MOST];
};
/* With the padding before it. */
#define LEAVES_BYTES (sizeof(struct leaves) + 16)

/* The record of t, or NULL: it is not watched. */
static inline struct leaves *leaves_of(struct volt_task *t)
{
    struct heap *h = heap_of(t->rt);

    if (!h || !h->extra)
        return NULL;
    return (struct leaves *)(void *)((char *)task_state(t) +
                                     ((t->type->size + 15) & ~(size_t)15));
}

/* t is new. */
void leaves_init(struct volt_task *t);
/* Any thread, in behalf of t, which is watched. Adding twice is adding once. */
__attribute__((cold)) void leaves_add(struct volt_task *t, const char *name,
                                      const void *leaf);
__attribute__((cold)) void leaves_remove(struct volt_task *t, const void *leaf);
/* Its drop has run. Says what was forgotten, and aborts. */
__attribute__((cold)) void leaves_check_end(struct volt_task *t);
/* It begins to wait on a leaf that says it is new. If the record knows better, says so,
 * and aborts. */
__attribute__((cold)) void leaves_check_new(struct volt_task *t, const void *leaf);
/* It is RUNNING, and its poll was pending. Says so if nothing can wake it any more. */
__attribute__((cold)) void leaves_check_pending(struct volt_task *t, bool woken,
                                                uint64_t now_ns);

/* --- what leaves call --------------------------------------------------------------- */

/* Of the running task: it begins to wait. */
static inline void leaf_waits(struct volt_cx *cx, const char *name, const void *leaf)
{
    if (__builtin_expect(cx->watched, 0))
        leaves_add(cx->task, name, leaf);
}

/* Of the running task: its poll is about to answer that it is ready. */
static inline void leaf_seen(struct volt_cx *cx, const void *leaf)
{
    if (__builtin_expect(cx->watched, 0))
        leaves_remove(cx->task, leaf);
}

/* The _fini of a leaf whose end t has not seen. */
static inline void leaf_left(struct volt_task *t, const void *leaf)
{
    if (t && leaves_of(t))
        leaves_remove(t, leaf);
}

#endif

/* Join set: any number of tasks, awaited one after the other as they end.
 *
 *     r = VOLT_SPAWN(rt, &fetch_type, &join, struct fetch, .url = url);
 *     if (r == 0)
 *         r = volt_join_set_add(s->set, &join);
 *     ...
 *     volt_join_set_next_init(&s->next, s->set);
 *     for (;;) {
 *         VOLT_AWAIT(s->at, volt_join_set_next_poll(cx, &s->next));
 *         if (!s->next.join.task)
 *             break;                       the set is empty
 *         ...                              volt_join_status(&s->next.join), _state()
 *     }
 *
 * Ownership. _new returns new; _free ends it, at any time. The set owns the handles that
 * were added to it. Threads. Adding and cancelling: any thread. Awaiting: one task at a
 * time. Each handle that is added costs an allocation. Memory order: what a task wrote,
 * the one that gets its handle sees.
 *
 * lib/task/join_set.c. */
#ifndef VOLT_JOIN_SET_H
#define VOLT_JOIN_SET_H

#include <volt/task.h>

VOLT_BEGIN_DECLS

struct volt_join_set;

/* Returns new, empty; NULL: out of memory. */
VOLT_API struct volt_join_set *volt_join_set_new(void);
/* Gives up the handles that are in it: their tasks go on, detached. Asserts that nobody
 * waits. NULL is allowed. */
VOLT_API void volt_join_set_free(struct volt_join_set *set);
/* Takes the handle, of a task that may have ended, and leaves it empty; nobody waits by
 * it. 0; -ENOMEM: it is still the caller's. */
VOLT_API int volt_join_set_add(struct volt_join_set *set, struct volt_join *join);
/* As volt_join_cancel() of all that are in it. */
VOLT_API void volt_join_set_cancel(struct volt_join_set *set);

/* Leaf: the next task that has ended. Private but for join. */
struct volt_join_set_next {
    struct volt_join_set *set;
    struct volt_join join;  /* after READY: of that task, until the next poll or _fini */
    struct volt_task *task; /* that waits, or NULL */
};

static inline void volt_join_set_next_init(struct volt_join_set_next *n,
                                           struct volt_join_set *set)
{
    n->set = set;
    n->join.task = 0;
    n->task = 0;
}

/* READY: join is the handle of a task that has ended, in the order of their ends; or it
 * is empty, and so is the set. Polled again it waits for the next. */
VOLT_API enum volt_poll volt_join_set_next_poll(struct volt_cx *cx,
                                                struct volt_join_set_next *n);
/* In every state, before the set is freed; a zeroed one, too. Ends the handle that it
 * has, and waits no more. */
VOLT_API void volt_join_set_next_fini(struct volt_join_set_next *n);

VOLT_END_DECLS

#endif

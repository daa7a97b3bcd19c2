/* Wait group: waiting until a number of things are done.
 *
 * The count says how many are not done. Tasks wait until it is 0. It is made with what is
 * known, or grows before the work is handed out; a task that does some of it may add
 * more before it says that its own part is done. Waiting allocates nothing.
 *
 * A group may be freed as soon as a wait has answered READY, although the last
 * volt_wait_group_done() has not returned yet: it touches the group no more. Memory
 * order: what was written before each _done is seen after the wait.
 *
 * lib/sync/wait_group.c. */
#ifndef VOLT_WAIT_GROUP_H
#define VOLT_WAIT_GROUP_H

#include <volt/sync.h>

VOLT_BEGIN_DECLS

/* All fields are private. */
struct volt_wait_group {
    uint64_t count; /* atomic */
    uint32_t lock;
    struct volt_waiter *head, *tail;
};

#define VOLT_WAIT_GROUP_INIT(count)                                                      \
    {                                                                                    \
        (count), 0, 0, 0                                                                 \
    }

/* count: things that are to be done. Not while anybody uses it. */
VOLT_API void volt_wait_group_init(struct volt_wait_group *g, uint64_t count);
/* Asserts that nobody waits. Nothing to free. */
VOLT_API void volt_wait_group_fini(struct volt_wait_group *g);
/* n more are to be done. Any thread, before the count has come to 0; or while nobody
 * waits, to use the group again. */
VOLT_API void volt_wait_group_add(struct volt_wait_group *g, uint64_t n);
/* One is done; the last wakes all that wait. Asserts that the count is not 0. Any
 * thread. */
VOLT_API void volt_wait_group_done(struct volt_wait_group *g);

/* Leaf. All fields are private. */
struct volt_wait_group_wait {
    struct volt_wait_group *group;
    struct volt_waiter waiter;
};

static inline void volt_wait_group_wait_init(struct volt_wait_group_wait *w,
                                             struct volt_wait_group *g)
{
    w->group = g;
    w->waiter.granted = w->waiter.state = 0;
}

/* READY: the count has been 0. */
VOLT_API enum volt_poll volt_wait_group_wait_poll(struct volt_cx *cx,
                                                  struct volt_wait_group_wait *w);
/* In every state; a zeroed one, too. */
VOLT_API void volt_wait_group_wait_fini(struct volt_wait_group_wait *w);

VOLT_END_DECLS

#endif

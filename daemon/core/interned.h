/* Values that the ends of jobs point to, one copy of each: steps, and lists of processes
 * that could not be killed. A copy lives until core is freed, so a status or event may
 * point to it without owning it.
 *
 * Any thread. Its own lock is a leaf: history is read while a lock of the store is
 * held. */
#ifndef VOLTD_CORE_INTERNED_H
#define VOLTD_CORE_INTERNED_H

#include <pthread.h>
#include <stddef.h>
#include "daemon/job/job.h"

struct named_copy {
    struct named_copy *before;
    struct job_named named;
};

struct interned {
    pthread_mutex_t lock; /* guards the rest */
    char **steps;
    size_t nsteps;
    struct named_copy *latest;
    size_t nnamed;
};

void interned_init(struct interned *in);
void interned_fini(struct interned *in);

/* Returns room for a copy of one list. NULL: no memory. The room is allocated before the
 * end is known: an end whose survivors cannot be named keeps its claims until a
 * reboot. */
struct named_copy *interned_room(void);
/* Returns the copy of a list of survivors. NULL: the list names none. Takes *room and
 * sets it to NULL, unless there is an equal copy. */
const struct job_named *interned_named(struct interned *in, const struct job_named *named,
                                       struct named_copy **room);
/* Makes an event that was read from the store, or from a record, point to copies. Returns
 * 0 or -ENOMEM. */
int interned_event(struct interned *in, struct job_event *ev);

#endif

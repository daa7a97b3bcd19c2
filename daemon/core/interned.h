/* What the ends of jobs point to, one copy of each value: steps, and lists of processes
 * that could not be killed. A copy lives until core is freed, so a status or an
 * event may point to it without owning it.
 *
 * Any thread; its own lock, a leaf: history is read with a lock of the store held. */
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

/* Room for a copy of one list, taken before there is one: an end whose survivors nobody
 * can name keeps its claims until a reboot. NULL: no memory. */
struct named_copy *interned_room(void);
/* The copy of a list of survivors; NULL: none is named. It takes *room, which is NULL
 * then, unless there is an equal one. */
const struct job_named *interned_named(struct interned *in, const struct job_named *named,
                                       struct named_copy **room);
/* Has an event that was read from the store, or from a record, point to copies. 0;
 * -ENOMEM. */
int interned_event(struct interned *in, struct job_event *ev);

#endif

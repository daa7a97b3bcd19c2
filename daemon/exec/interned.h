/* What the ends of jobs point to, one copy of each value: steps, and lists of processes
 * that could not be killed. A copy lives until the manager is freed, so a status or an
 * event may point to it without owning it.
 *
 * Any thread; its own lock, a leaf: history is read with a lock of the store held. */
#ifndef VOLTD_EXEC_INTERNED_H
#define VOLTD_EXEC_INTERNED_H

#include <pthread.h>
#include <stddef.h>
#include "daemon/job/job.h"

struct interned {
    pthread_mutex_t lock; /* guards the rest */
    char **steps;
    size_t nsteps;
    struct job_named **named;
    size_t nnamed;
};

void interned_init(struct interned *in);
void interned_fini(struct interned *in);

/* The copy of a step of an event that was read from the store; NULL for NULL. Without
 * memory "". */
const char *interned_step(struct interned *in, const char *step);
/* The copy of a list of survivors; NULL: none is named, or no memory. */
const struct job_named *interned_named(struct interned *in,
                                       const struct job_named *named);

#endif

/* Calls of Wait inside jobs and leases, for the search for deadlocks (deadlock.h). Lock
 * held. */
#ifndef VOLTD_CORE_INNER_WAIT_H
#define VOLTD_CORE_INNER_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct core;

/* The caller fills in all but `node` and `listed`. */
struct inner_wait {
    struct list_node node; /* in its user's list ... */
    bool listed;           /* ... if true */
    uid_t uid;
    struct job_key in_job;                            /* id 0: inside no job */
    uint64_t in_lease;                                /* 0: inside no lease */
    struct job_key (*job)(const void *arg, size_t i); /* returns the i-th of n jobs waited
                                                       * for; constant */
    const void *arg;
    size_t n;
};

/* Adds a call that waits. Without memory the call stays unknown. */
void inner_wait_add(struct core *core, struct inner_wait *n);
/* Removes the call; does nothing if it is unknown. */
void inner_wait_remove(struct core *core, struct inner_wait *n);

#endif

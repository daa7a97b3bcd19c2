/* Calls of Wait inside jobs and leases: what waits there for which jobs (deadlock.h).
 * Lock held. */
#ifndef VOLTD_CORE_INNER_WAIT_H
#define VOLTD_CORE_INNER_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct core;

/* Filled in but for the first two and the last. */
struct inner_wait {
    struct list_node node; /* among those of its user, ... */
    bool listed;           /* ... if it is */
    uid_t uid;
    struct job_key in_job;                            /* id 0: inside of none */
    uint64_t in_lease;                                /* 0: likewise */
    struct job_key (*job)(const void *arg, size_t i); /* of n; always the same ones */
    const void *arg;
    size_t n;
    uint64_t looked; /* to see that it does not wait for ever: entries (core.h) */
};

/* It waits from now on; without memory nobody knows of it. */
void inner_wait_add(struct core *core, struct inner_wait *n);
/* Nothing happens to one that is not known of. */
void inner_wait_remove(struct core *core, struct inner_wait *n);

#endif

/* Locks, semaphores and rates of a user that are in use. */
#ifndef VOLTD_QUERY_LOCKS_H
#define VOLTD_QUERY_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/core/leases.h"
#include "daemon/job/key.h"
#include "daemon/job/quota.h"
#include "daemon/job/spec.h"

#define LOCKS_PAGE    64  /* names in one answer */
#define LOCKS_HOLDERS 256 /* most jobs looked at, most holders returned */
/* Most jobs and leases looked at: with the names, no more than a turn. */
#define LOCKS_LOOKS (QUOTA_ENTRIES - LOCKS_PAGE)

struct core;

struct lock_view {
    char name[JOB_CLAIM_BYTES + 1];
    const char *kind;       /* struct resource_kind */
    bool exclusive;         /* an exclusive holder */
    uint64_t capacity;      /* of a semaphore; of a rate: burst; of a lock: 0 */
    uint64_t interval_usec; /* of a rate: time per token; of others: 0 */
    uint64_t used;          /* permits, holders of the lock, or tokens spent */
    uint64_t told;          /* part of `used` that the holders in the answer have; of a
                             * rate, which has none: all */
    uint64_t waiting;       /* jobs (arrays counted once) and leases */
    bool leases_waiting;    /* some waiting leases are in the answer */
};

/* A job or lease that holds the lock, or a lease that waits for it. */
struct lock_holder {
    size_t lock;        /* its index in the page */
    struct job_key key; /* of a lease: its id */
    enum job_claim_mode mode;
    uint64_t permits;    /* PERMITS */
    uint64_t since_usec; /* CLOCK_REALTIME; 0: about to get it */
    bool left;           /* the job has ended; its processes are left */
    bool lease, waits;   /* of leases, like the next two members */
    pid_t pid;           /* 0: not known */
    char command[LEASE_COMMAND + 1];
};

struct lock_page {
    size_t n, nholders;
    bool more; /* names follow after the last */
    struct lock_view lock[LOCKS_PAGE];
    struct lock_holder holder[LOCKS_HOLDERS]; /* jobs first; each kind earliest first */
};

/* Returns the user's locks whose names follow `behind`, by name; "": from the first.
 * Takes the lock, and charges the quota. */
void query_locks(struct core *core, uid_t uid, const char *behind, struct quota *quota,
                 struct lock_page *ret);

#endif

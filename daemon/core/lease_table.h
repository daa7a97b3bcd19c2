/* The table of leases (leases.h), by id and by user. Lock held in all functions. */
#ifndef VOLTD_CORE_LEASE_TABLE_H
#define VOLTD_CORE_LEASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/task.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "daemon/admit/admission.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"

struct core;

#define LEASE_LOOKS 13 /* looks at one lease whose process may have closed the file */

enum lease_state {
    LEASE_WAITS,
    LEASE_GIVEN, /* granted; the process has not been notified */
    LEASE_HELD,  /* while the file is open, here or in a child process */
};

struct lease {
    struct waiter waiter;
    struct hash_node hash;   /* in leases.all, by id */
    struct list_node own;    /* in its user's list, in order of ids */
    struct list_node node;   /* in `in` */
    struct volt_waker waker; /* WAITS: the call that asked */
    uint64_t id;
    uid_t uid;
    enum lease_state state;
    struct list *in; /* its list in struct leases; NULL: a call waits, and ends it */
    uint8_t looks;   /* so far, since leases_note() */
    uint64_t look_at_usec; /* in leases.again: time of the next look */
    enum job_claim_mode mode;
    uint64_t permits, capacity; /* PERMITS; capacity of the semaphore at the grant */
    pid_t pid;
    uint64_t since_usec;
    struct job_key in_job; /* where it was asked for, with in_lease */
    uint64_t in_lease;
    char command[];
};

/* [L] Zero-initialised is empty. */
struct leases {
    struct hash_table all;
    size_t nlisted;    /* leases in the lists below: HELD, or without a call; only their
                        * file ends them */
    struct list quiet; /* leases that need no look */
    struct list due;   /* leases to look at now: the process may have closed the file */
    struct list again[LEASE_LOOKS - 1]; /* leases to look at later, by `looks`; all of one
                                         * list wait equally long, so its first is its
                                         * next */
    struct volt_waker waker;            /* of the task of leases, while none is due */
};

#define lease_of_waiter(w) list_thing(w, struct lease, waiter)

/* Returns the lease of this id. NULL: none. */
struct lease *leases_find(struct core *core, uint64_t id);
/* Returns the user's lease behind l, or the first one if l is NULL. NULL: none is
 * left. */
struct lease *leases_next(struct core *core, uid_t uid, const struct lease *l);
const char *lease_name(const struct lease *l);
bool lease_claims(const struct lease *l, const struct resource *r);

/* Adds a lease. The table must have room (hash_table_reserve()) and the user must
 * exist. */
void leases_add(struct core *core, struct lease *l);
void leases_remove(struct core *core, struct lease *l);

#endif

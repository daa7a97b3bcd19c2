/* The leases that there are (leases.h): found by their ids, and by their users. Lock
 * held. */
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

#define LEASE_LOOKS 13 /* at one, when it may have been let go (leases.h) */

enum lease_state {
    LEASE_WAITS,
    LEASE_GIVEN, /* it has what it claims; the process does not know yet */
    LEASE_HELD,  /* as long as the process and what inherits from it want */
};

struct lease {
    struct waiter waiter;
    struct hash_node hash;   /* in leases.all, by id */
    struct list_node own;    /* among those of its user, in the order of their ids */
    struct list_node node;   /* in one of the lists of leases, or in none */
    struct volt_waker waker; /* WAITS: of what has asked */
    uint64_t id;
    uid_t uid;
    enum lease_state state;
    struct list *in;       /* that list; NULL: a call waits for it, and ends it */
    uint8_t looks;         /* in a list: since something was known of it */
    uint64_t look_at_usec; /* in leases.again: when */
    enum job_claim_mode mode;
    uint64_t permits, capacity; /* PERMITS; what the semaphore had */
    pid_t pid;
    uint64_t since_usec;
    struct job_key in_job; /* as it was asked for, with the next */
    uint64_t in_lease;
    char command[];
};

/* [L] Zero-initialised is empty. */
struct leases {
    struct hash_table all;
    size_t nlisted;    /* in the lists: those that only their file can end: HELD, or the
                        * call that has asked has gone */
    struct list quiet; /* those that nothing has happened to */
    struct list due;   /* whose process may have let go: to be looked at */
    struct list again[LEASE_LOOKS - 1]; /* likewise, later, by `looks`: all of a list wait
                                     * equally long, so its first is its next */
    struct volt_waker waker;            /* of the task that looks, while nothing is due */
};

#define lease_of_waiter(w) list_thing(w, struct lease, waiter)

/* NULL: there is none. */
struct lease *leases_find(struct core *core, uint64_t id);
/* Of a user, behind this one; NULL: the first. NULL: there is none. */
struct lease *leases_next(struct core *core, uid_t uid, const struct lease *l);
const char *lease_name(const struct lease *l);
bool lease_claims(const struct lease *l, const struct resource *r);

/* Adds it; the table has room (hash_table_reserve()), and the user is known. */
void leases_add(struct core *core, struct lease *l);
void leases_remove(struct core *core, struct lease *l);

#endif

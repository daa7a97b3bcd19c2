/* Users: the jobs of each that have not ended, the bytes of their specs, and the sum of
 * all users. index.c keeps the ids in struct user. A user that was seen once stays until
 * the end, so pointers stay valid.
 *
 * With user namespaces a client can choose among many uids: hence a keyed hash. Pure;
 * core.lock guards it. */
#ifndef VOLTD_CORE_USERS_H
#define VOLTD_CORE_USERS_H

#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "base/siphash.h"
#include "daemon/core/idset.h"

/* Groups of states, for questions about many jobs. */
enum job_class {
    JOB_CLASS_QUEUED,
    JOB_CLASS_BUSY, /* starting, running, paused, stopping */
    JOB_CLASS_DONE,
    JOB_CLASSES,
};

struct user {
    struct hash_node node;
    uid_t uid;
    uint64_t jobs, bytes;          /* only users_add() and users_sub() change these */
    struct idset ids[JOB_CLASSES]; /* index.c: jobs in the table, arrays as a whole */
    struct list holders; /* works that have their jobs' claims, the latest last */
    uint64_t held_nr;    /* number of the latest holder */
    struct list leases;  /* leases.c: in order of ids */
    uint32_t nleases;
    struct list inner_waits; /* of inner_wait.c */
    uint64_t keys;           /* entries in keys.h */
    uint32_t nreplaced;      /* jobs listed in replacement.h */
    uint64_t front;          /* job_changes.front of the last job put first */
};

/* Zero-initialised is empty. */
struct users {
    struct siphash_key secret; /* set before the first use */
    struct hash_table table;
    struct user *latest; /* the user last asked for, mostly the next one too; NULL:
                          * none */
    uint64_t jobs;       /* of all users */
};

/* Returns the user. NULL: not seen yet. */
struct user *users_find(struct users *all, uid_t uid);
/* Returns the user, made if not seen yet. NULL: no memory. */
struct user *users_get(struct users *all, uid_t uid);
void users_add(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
void users_sub(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
/* Iterates over all users in no order, as hash_table_each(). */
struct user *users_each(const struct users *all, struct hash_cursor *c);
void users_fini(struct users *all);

#endif

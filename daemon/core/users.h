/* What each user has here that has not ended: jobs, and bytes of specs; and all users
 * together. Which jobs of the user are in the table: index.c keeps that. A user that was
 * seen once stays, so that a pointer to it holds.
 *
 * With user namespaces a client can choose among many uids: hence a keyed hash.
 * Pure; core's lock guards it. */
#ifndef VOLTD_CORE_USERS_H
#define VOLTD_CORE_USERS_H

#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "base/siphash.h"
#include "daemon/core/idset.h"

/* What a state is for a question about many jobs. */
enum job_class {
    JOB_CLASS_QUEUED,
    JOB_CLASS_BUSY, /* starting, running, paused, stopping */
    JOB_CLASS_DONE,
    JOB_CLASSES,
};

struct user {
    struct hash_node node;
    uid_t uid;
    uint64_t jobs, bytes;          /* changed by users_add() and users_sub() alone */
    struct idset ids[JOB_CLASSES]; /* of index.c: jobs in the table, arrays as a whole */
    struct list holders; /* of works that have what their jobs claim, the latest last */
    uint64_t held_nr;    /* of the latest of these */
    struct list leases;  /* of leases.c, by their ids */
    uint32_t nleases;
    struct list inner_waits; /* of inner_wait.c */
    uint64_t keys;           /* of entries of keys.h */
    uint64_t front;          /* of the job that was put first last: job_changes.front */
};

/* Zero-initialised is empty. */
struct users {
    struct siphash_key secret; /* set before the first use */
    struct hash_table table;
    struct user *latest; /* that was asked for: mostly the next one is the same. NULL:
                          * none was */
    uint64_t jobs;       /* of all */
};

/* NULL: was not seen yet. */
struct user *users_find(struct users *all, uid_t uid);
/* Made when it was not seen yet. NULL: no memory. */
struct user *users_get(struct users *all, uid_t uid);
void users_add(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
void users_sub(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
/* All of them, in no order: as hash_table_each(). */
struct user *users_each(const struct users *all, struct hash_cursor *c);
void users_fini(struct users *all);

#endif

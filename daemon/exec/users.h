/* What each user has here that has not ended: jobs, and bytes of specs; and all users
 * together. A user that was seen once stays, so that a pointer to it holds.
 *
 * With user namespaces a client can choose among many uids: hence a keyed hash.
 * Pure; the manager's lock guards it. */
#ifndef VOLTD_EXEC_USERS_H
#define VOLTD_EXEC_USERS_H

#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/siphash.h"

struct user {
    struct hash_node node;
    uid_t uid;
    uint64_t jobs, bytes; /* changed by users_add() and users_sub() alone */
};

/* Zero-initialised is empty. */
struct users {
    struct siphash_key secret; /* set before the first use */
    struct hash_table table;
    uint64_t jobs; /* of all */
};

/* NULL: was not seen yet. */
struct user *users_find(const struct users *all, uid_t uid);
/* Made when it was not seen yet. NULL: no memory. */
struct user *users_get(struct users *all, uid_t uid);
void users_add(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
void users_sub(struct users *all, struct user *u, uint64_t jobs, uint64_t bytes);
void users_fini(struct users *all);

#endif

/* How much of the history in the store is whose. In memory only: the load counts anew.
 *
 * Retention by number goes by it. Users share what is kept: while all of it is more than
 * may be kept, a user who has more than an equal share of it loses the oldest jobs down
 * to that share, and a user who has less loses none. What a user with less leaves of a
 * share is for those with more. So an array of a million elements pushes out jobs of its
 * own owner alone.
 *
 * Owners stay once they are seen, so that a pointer to one holds. With user namespaces a
 * client can choose among many uids: hence a keyed hash. Writer's thread only. */
#ifndef VOLTD_STORE_OWNERS_H
#define VOLTD_STORE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash_table.h"

struct owner {
    struct hash_node node;
    uid_t uid;
    uint64_t jobs;     /* that have ended, arrays as a whole */
    uint64_t elements; /* the same, an array as its elements */
    uint64_t keys;     /* of jobs that have ended */
};

struct owner_change {
    uid_t uid;
    int64_t jobs, elements, keys;
};

/* Zero-initialised is empty, with a seed that everybody knows. */
struct owners {
    uint64_t seed; /* set before the first use */
    struct hash_table table;
    uint64_t elements;           /* of all */
    struct owner_change *change; /* by the transaction under way, to be taken back */
    size_t nchanges, capacity;
};

/* 0; -ENOMEM; -ERANGE: the user has less than that. Then nothing has changed. */
int owners_change(struct owners *o, const struct owner_change *change);
void owners_committed(struct owners *o);
void owners_rolled_back(struct owners *o);

/* All of them, in no order: as hash_table_each(). */
struct owner *owners_each(const struct owners *o, struct hash_cursor *c);
/* What each owner may have while all together may have `keep`; UINT64_MAX: there are no
 * more than that. */
uint64_t owners_share(const struct owners *o, uint64_t keep);
/* By how much the owner is beyond that share. The newest job stays whatever it counts
 * for, unless the share is 0. */
uint64_t owner_beyond(const struct owner *owner, uint64_t share);
/* The same of all of them. */
uint64_t owners_beyond(const struct owners *o, uint64_t share);
void owners_fini(struct owners *o);

#endif

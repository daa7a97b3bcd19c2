/* Counts how much of the stored history each user owns. In memory only: the load counts
 * anew.
 *
 * Retention by number uses these counts, and shares the limit among users. While the
 * whole history exceeds the limit, a user above an equal share loses the oldest jobs down
 * to that share. A user below it loses none, and the unused rest of that share goes to
 * users above theirs. So an array of a million elements pushes out jobs of its own owner
 * only.
 *
 * Owners are never removed, so a pointer to an owner stays valid. With user namespaces a
 * client can choose among many uids, hence a keyed hash. Writer's thread only. */
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
    uint64_t jobs;     /* ended jobs; an array counts as one */
    uint64_t elements; /* ended jobs; an array counts as its elements */
    uint64_t keys;     /* of ended jobs */
};

struct owner_change {
    uid_t uid;
    int64_t jobs, elements, keys;
};

/* Zero-initialised is empty, with a seed that is no secret. */
struct owners {
    uint64_t seed; /* set before the first use */
    struct hash_table table;
    uint64_t elements;           /* of all owners */
    struct owner_change *change; /* changes of the transaction under way, for a
                                  * rollback */
    size_t nchanges, capacity;
};

/* Adds the change to its user's counts. Returns 0; on error nothing has changed:
 *   -ENOMEM
 *   -ERANGE  a count would be below 0 */
int owners_change(struct owners *o, const struct owner_change *change);
void owners_committed(struct owners *o);
void owners_rolled_back(struct owners *o);

/* Returns each owner in turn, in no order, as hash_table_each() does. */
struct owner *owners_each(const struct owners *o, struct hash_cursor *c);
/* Returns how many elements each owner may have while all owners together may have
 * `keep`; UINT64_MAX: they do not exceed `keep`. */
uint64_t owners_share(const struct owners *o, uint64_t keep);
/* Returns how many elements the owner has above that share. An owner's last job does not
 * count, unless the share is 0. */
uint64_t owner_beyond(const struct owner *owner, uint64_t share);
/* Returns the sum of owner_beyond() over all owners. */
uint64_t owners_beyond(const struct owners *o, uint64_t share);
void owners_fini(struct owners *o);

#endif

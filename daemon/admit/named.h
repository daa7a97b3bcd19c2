/* Named resources: locks, semaphores and rates.
 *
 * A name belongs to its owner: the lock `backup` of two users is two locks. A global
 * resource (`/backup`) has no owner here; other rooms decide who may use it. The first
 * use makes a resource of its kind and capacity. A later use with another kind or
 * capacity is refused. A resource without references is freed, unless it is declared. */
#ifndef VOLTD_ADMIT_NAMED_H
#define VOLTD_ADMIT_NAMED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "daemon/admit/resource.h"

struct admission;

#define NAMED_MOST  10000 /* names of one user */
#define NAMED_BYTES 128   /* of a name */

struct named_ask {
    uid_t owner;
    bool global; /* then `owner` is ignored */
    const char *name;
    const struct resource_kind *kind;
    uint64_t capacity; /* 0: as it is, 1 if new; for a rate its burst */
    uint64_t per_usec; /* for a rate: time for one token; 0: as it is */
    bool again;        /* accepted before: NAMED_MOST does not apply */
};

/* Finds or makes a resource, and adds a reference. Returns:
 *   0
 *   -ENOMEM
 *   -EEXIST  it exists with another kind or capacity
 *   -EDQUOT  the owner has NAMED_MOST names
 *   -EINVAL  the name is not valid, or a new rate has no time per token */
int named_get(struct admission *a, const struct named_ask *ask, struct resource **ret);
/* Finds a user's resource; NULL: none. */
struct resource *named_find(const struct admission *a, uid_t owner, const char *name);
/* Returns the user's first resource after this name, in order of strcmp(); "": the first.
 * NULL: none. */
struct resource *named_next(struct admission *a, uid_t owner, const char *name);
void named_ref(struct resource *r);
void named_put(struct admission *a, struct resource *r);
/* Declares whether the resource stays without references. */
void named_declare(struct admission *a, struct resource *r, bool declared);
bool named_is_declared(const struct resource *r);
bool named_is_used(const struct resource *r); /* it has references */
/* Sets when a rate will be full again, as an earlier voltd stored it. */
void named_set_full(struct admission *a, struct resource *r, uint64_t full_at);
/* Returns the first rate that was dropped and that the store may still have; NULL: none.
 * Only its name and owner may be read. Free it with named_gone_free(). */
struct resource *named_dropped(struct admission *a);
void named_gone_free(struct admission *a, struct resource *r);
/* Drops the resource if it has no references; a rate only when it is full. Returns
 * whether it has none. */
bool named_drop_unused(struct admission *a, struct resource *r);
const char *named_name(const struct resource *r);
bool named_owner(const struct resource *r, uid_t *ret); /* false: it is global */
void named_fini(struct admission *a);

#endif

/* Named resources: locks, semaphores and rates.
 *
 * A name belongs to its owner: the lock `backup` of two users is two locks. A global one
 * (`/backup`) has no owner here; which users may use it is not the core's matter. The
 * first use makes a resource, with the kind and capacity that it says; a later one that
 * says otherwise is refused. One that nothing refers to goes, unless it is declared. */
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
    bool global; /* then owner does not count */
    const char *name;
    const struct resource_kind *kind;
    uint64_t capacity; /* 0: what it has; 1 if it is new. Of a rate its burst */
    uint64_t per_usec; /* of a rate: for one token; 0: what it has */
    bool again;        /* it was taken before: however many names the owner has */
};

/* Returns it with one reference more. 0; -ENOMEM; -EEXIST: there is one of another kind
 * or capacity; -EDQUOT: names of this owner; -EINVAL: no such name or rate. */
int named_get(struct admission *a, const struct named_ask *ask, struct resource **ret);
/* The one that a user has; NULL: there is none. */
struct resource *named_find(const struct admission *a, uid_t owner, const char *name);
/* The first one of a user behind this name, in the order of strcmp(); "": the first.
 * NULL: there is none. */
struct resource *named_next(struct admission *a, uid_t owner, const char *name);
void named_ref(struct resource *r);
void named_put(struct admission *a, struct resource *r);
/* It stays without a reference, or needs one again. */
void named_declare(struct admission *a, struct resource *r, bool declared);
bool named_is_declared(const struct resource *r);
bool named_is_used(const struct resource *r); /* something refers to it */
/* A rate that was used, as an earlier life knows it: not full before a time. */
void named_set_full(struct admission *a, struct resource *r, uint64_t full_at);
/* The first of the rates that have gone and may be known elsewhere; NULL: there is none.
 * Only its name and its owner may be asked for; then it is to be freed. */
struct resource *named_gone(struct admission *a);
void named_gone_free(struct admission *a, struct resource *r);
/* Its time has come: it goes if nothing refers to it. Returns whether nothing does. */
bool named_drop_unused(struct admission *a, struct resource *r);
const char *named_name(const struct resource *r);
bool named_owner(const struct resource *r, uid_t *ret); /* false: it is global */
void named_fini(struct admission *a);

#endif

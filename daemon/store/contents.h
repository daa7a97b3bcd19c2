/* Counts how many jobs use each content of the store, so that equal environments are
 * stored once and are deleted with their last job. In memory only: the load counts anew.
 *
 * The id of a content is the SipHash of its bytes under the store's seed. If another
 * content has that id, the next free number is used. Equal ids never stand for equal
 * bytes without a comparison. The seed is a secret of 64 bits in the store, so clients
 * cannot construct collisions. Writer's thread only. */
#ifndef VOLTD_STORE_CONTENTS_H
#define VOLTD_STORE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

struct contents_slot {
    struct hash_node node; /* its hash is the content's id */
    uint64_t uses;
    /* Set by the transaction under way, so that a rollback needs no memory: */
    bool fresh; /* its row was inserted */
    bool gone;  /* its row was deleted */
};

/* Zero-initialised is empty. */
struct contents {
    struct hash_table table;
};

/* Returns the id at which to search first for the bytes; greater than 0. */
int64_t contents_hash(uint64_t seed, const void *bytes, size_t n);
/* Finds the content with this id. Borrowed until it is removed; NULL: not found. */
struct contents_slot *contents_find(const struct contents *c, int64_t id);
/* Adds a content with 0 uses. Borrowed until it is removed; NULL: no memory. */
struct contents_slot *contents_add(struct contents *c, int64_t id);
void contents_remove(struct contents *c, int64_t id);
void contents_fini(struct contents *c);

#endif

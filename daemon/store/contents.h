/* Which contents the store has, and how many jobs use each: so that equal environments
 * are kept once, and go with their last job. In memory only: the load counts anew.
 *
 * The id of a content is the SipHash of its bytes under the store's seed, so that nobody
 * can aim, or the next free number when another content has that one; equal ids are never
 * taken for equal bytes. The seed is a secret of 64 bits that the store keeps. Writer's
 * thread only. */
#ifndef VOLTD_STORE_CONTENTS_H
#define VOLTD_STORE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

struct contents_slot {
    struct hash_node node; /* its hash is the content's id */
    uint64_t uses;
    /* By the transaction under way, so that taking it back needs no memory: */
    bool fresh; /* its row was inserted */
    bool gone;  /* its row was deleted */
};

/* Zero-initialised is empty. */
struct contents {
    struct hash_table table;
};

/* Where to look first for bytes: greater than 0. */
int64_t contents_hash(uint64_t seed, const void *bytes, size_t n);
/* NULL: there is none. Borrowed until it is removed. */
struct contents_slot *contents_find(const struct contents *c, int64_t id);
/* A new one without uses; NULL: no memory. */
struct contents_slot *contents_add(struct contents *c, int64_t id);
void contents_remove(struct contents *c, int64_t id);
void contents_fini(struct contents *c);

#endif

/* Which contents the store has, and how many jobs use each: so that equal environments
 * are kept once, and go with their last job. In memory only: the load counts anew.
 *
 * The id of a content is a hash of its bytes (and of a seed, so that nobody can aim), or
 * the next free number when another content has that one. Writer's thread only. */
#ifndef VOLTD_STORE_CONTENTS_H
#define VOLTD_STORE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct contents_slot {
    int64_t id; /* 0: free */
    uint64_t uses;
};

/* Open addressing; zero-initialised is empty. */
struct contents {
    struct contents_slot *slots;
    size_t n, capacity;
};

/* Where to look first for bytes: greater than 0. */
int64_t contents_hash(uint64_t seed, const void *bytes, size_t n);
/* NULL: there is none. Borrowed until the next add or remove. */
struct contents_slot *contents_find(const struct contents *c, int64_t id);
/* A new one without uses; NULL: no memory. */
struct contents_slot *contents_add(struct contents *c, int64_t id);
void contents_remove(struct contents *c, int64_t id);
void contents_fini(struct contents *c);

#endif

/* A set of job ids, in order.
 *
 * Ids of one set come in runs: waiting jobs of one user, or of one name. So the set is a
 * vector of chunks of 4096 ids, as in Roaring bitmaps (Chambi, Lemire, Kaser and Godin,
 * 2016). A chunk holds the low bits of its ids in the smallest of three forms:
 *
 *   up to 4 ids      in the chunk itself
 *   up to 64         a sorted array, 2 bytes for each id and as much for room
 *   more             a bitmap of 512 bytes
 *
 * A million consecutive ids take 128 KiB of bitmaps. A chunk shrinks at a smaller size
 * than it grows at, so that a chunk whose size goes up and down by one does not allocate
 * each time. Only adding may fail.
 *
 * A chunk is found by binary search; a new one is mostly the last. Rejected: a tree of
 * chunks. The vector for a hundred million ids has 600 KB and is moved at most once in
 * 4096 changes.
 *
 * Pure; zero-initialised is empty. */
#ifndef VOLTD_CORE_IDSET_H
#define VOLTD_CORE_IDSET_H

#include <stddef.h>
#include <stdint.h>

#define IDSET_CHUNK_BITS 12
#define IDSET_INLINE     4

struct idset_chunk {
    uint64_t number; /* the ids divided by 4096 */
    uint16_t n;      /* number of ids, never 0 */
    uint16_t room;   /* capacity in ids; IDSET_INLINE: `few`; UINT16_MAX: `bits` */
    union {
        uint16_t few[IDSET_INLINE]; /* sorted, as `low` */
        uint16_t *low;
        uint64_t *bits;
    };
};

struct idset {
    struct idset_chunk *chunks; /* in order of their numbers */
    uint32_t n, room;
    uint64_t count; /* ids */
};

/* Adds an id; an id that is there already is no error. Returns 0, or -ENOMEM: nothing has
 * changed. */
int idset_add(struct idset *s, uint64_t id);
/* Removes an id; does nothing if the id is not there. */
void idset_remove(struct idset *s, uint64_t id);
/* Return the smallest id above, and the greatest below. 0: none. */
uint64_t idset_next(const struct idset *s, uint64_t id);
uint64_t idset_prev(const struct idset *s, uint64_t id);
void idset_fini(struct idset *s); /* leaves an empty set */

#endif

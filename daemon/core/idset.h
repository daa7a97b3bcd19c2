/* A set of job ids, in order.
 *
 * Ids of one set come in runs: jobs of one user, of one name, that wait. So the set is
 * made of chunks of 4096 ids, in the manner of Roaring bitmaps (Chambi, Lemire, Kaser and
 * Godin, 2016). A chunk holds the low bits of its ids in the smallest of three forms:
 *
 *   up to 4 ids      in the chunk itself
 *   up to 64         a sorted array, 2 bytes for each id and as much for room
 *   more             a bitmap of 512 bytes
 *
 * A set of a million consecutive ids is 128 KiB of bitmaps. A form changes at a different
 * size on the way down than on the way up, so that a chunk whose size goes up and down by
 * one does not allocate each time. Only adding may fail.
 *
 * The chunks are a vector. Finding one is a binary search; a new one is mostly the last.
 * Rejected: a tree of chunks. The vector of a hundred million ids has 600 KB, and it is
 * moved once in 4096 changes at the most.
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
    uint16_t n;      /* ids, never 0 */
    uint16_t room;   /* for how many; IDSET_INLINE: in `few`; UINT16_MAX: `bits` */
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

/* 0, also if it is there already; -ENOMEM: it is not, and nothing has changed. */
int idset_add(struct idset *s, uint64_t id);
/* Nothing happens if it is not there. */
void idset_remove(struct idset *s, uint64_t id);
/* The smallest above id, the greatest below id. 0: there is none. */
uint64_t idset_next(const struct idset *s, uint64_t id);
uint64_t idset_prev(const struct idset *s, uint64_t id);
void idset_fini(struct idset *s); /* empty again */

#endif

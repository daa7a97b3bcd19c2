/* Postings: of many keys, the ids of the jobs that have them, in order.
 *
 * A key is a tag of POSTINGS_TAG_BITS bits, taken from a keyed hash of what it stands
 * for. Two keys may have one tag, and then also the ids of each other: of n ids in here a
 * question is told n / 2^21 that have another key (0.5 of a million). So what is told is
 * to be looked at, and neither the keys nor the rest of their hashes are stored.
 *
 * Most keys are rare, since many names are used once. The ids of a rare key are entries
 * of 8 bytes, the tag and the id, and an entry (16 bytes at most, with what is free in
 * its page) is all that such an id costs. Entries are in pages of about POSTINGS_PAGE,
 * sorted, and a page is chosen by the low bits of the tag. Pages are divided one at a
 * time as their number grows, and joined as it falls (linear hashing: Litwin, 1980), so
 * no operation moves more than a page or two. A page has room from its first entry on and
 * grows about once: pages that grow in steps of 16 leave holes all over the heap, the
 * next jobs are put into those, and beside a million jobs taking a thousand more was a
 * fifth slower. A key with more than POSTINGS_RARE ids has a set of its own (idset.h) and
 * one entry with the number of the set.
 *
 * Rejected: a hash table of keys. A node, a bucket and a set for each name that is used
 * once are more than 64 bytes.
 *
 * Pure; zero-initialised is empty. */
#ifndef VOLTD_CORE_POSTINGS_H
#define VOLTD_CORE_POSTINGS_H

#include "daemon/core/idset.h"

#define POSTINGS_TAG_BITS 21
#define POSTINGS_ID_BITS  42 /* at 10,000 jobs a second 13 years */
#define POSTINGS_PAGE     96
#define POSTINGS_RARE     32

struct postings_page {
    uint64_t *entries;
    uint32_t n, room;
};

struct postings {
    struct postings_page *pages;
    uint32_t npages, pages_room;
    uint64_t count; /* entries */
    struct idset *sets;
    uint32_t nsets, sets_room;
    uint32_t free_set; /* the number of a free one, and 1; its `count` is that of the
                        * next; 0: none */
};

/* The tag of a key with this hash. */
static inline uint32_t postings_tag(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - POSTINGS_TAG_BITS));
}

/* 0, also if it is there already; -ENOMEM; -ERANGE: an id of more than POSTINGS_ID_BITS.
 * Then it is not there. */
int postings_add(struct postings *p, uint32_t tag, uint64_t id);
/* A hint that an id of the tag will be added: its page comes into the cache. */
void postings_prefetch(const struct postings *p, uint32_t tag);
/* Nothing happens if it is not there. */
void postings_remove(struct postings *p, uint32_t tag, uint64_t id);
/* The smallest id of the tag above id, the greatest below id. 0: there is none. */
uint64_t postings_next(const struct postings *p, uint32_t tag, uint64_t id);
uint64_t postings_prev(const struct postings *p, uint32_t tag, uint64_t id);
/* The ids of the tag. */
uint64_t postings_count(const struct postings *p, uint32_t tag);
void postings_fini(struct postings *p); /* empty again */

#endif

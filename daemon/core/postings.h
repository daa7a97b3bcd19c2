/* Postings: for many keys, the ids of the jobs that have each key, in order.
 *
 * A key is a tag of POSTINGS_TAG_BITS bits, taken from a keyed hash of the key. Two keys
 * may share a tag, and then share ids: among n ids, a question gets n / 2^21 that have
 * another key (0.5 of a million). So results must be checked, and neither keys nor full
 * hashes are stored.
 *
 * Most keys are rare, since many names are used once. The ids of a rare key are entries
 * of 8 bytes, tag and id; an id costs at most 16 bytes with the free part of its page.
 * Entries are sorted in pages of about POSTINGS_PAGE, chosen by the low bits of the tag.
 * Pages are split one at a time as their number grows, and joined as it falls (linear
 * hashing: Litwin, 1980), so an operation moves a page or two at most. A page has room
 * from its first entry on and grows about once: pages that grew in steps of 16 fragmented
 * the heap, and beside a million jobs a thousand more took a fifth longer. A key with
 * more than POSTINGS_RARE ids has a set of its own (idset.h), and one entry with the
 * number of that set.
 *
 * Rejected: a hash table of keys. A node, a bucket and a set for each name used once take
 * more than 64 bytes.
 *
 * Pure; zero-initialised is empty. */
#ifndef VOLTD_CORE_POSTINGS_H
#define VOLTD_CORE_POSTINGS_H

#include "daemon/core/idset.h"

#define POSTINGS_TAG_BITS 21
#define POSTINGS_ID_BITS  42 /* enough for 13 years at 10,000 jobs a second */
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
    uint32_t free_set; /* number of a free set plus 1; its `count` is the next one's; 0:
                        * none */
};

/* Returns the tag of a key with this hash. */
static inline uint32_t postings_tag(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - POSTINGS_TAG_BITS));
}

/* Adds an id; an id that is there already is no error. Returns 0, or an error that
 * changes nothing: -ENOMEM; -ERANGE: the id has more than POSTINGS_ID_BITS. */
int postings_add(struct postings *p, uint32_t tag, uint64_t id);
/* Prefetches the page of a tag that will get an id. */
void postings_prefetch(const struct postings *p, uint32_t tag);
/* Removes an id; does nothing if the id is not there. */
void postings_remove(struct postings *p, uint32_t tag, uint64_t id);
/* Return the tag's smallest id above, and its greatest below. 0: none. */
uint64_t postings_next(const struct postings *p, uint32_t tag, uint64_t id);
uint64_t postings_prev(const struct postings *p, uint32_t tag, uint64_t id);
/* Returns the number of ids of the tag. */
uint64_t postings_count(const struct postings *p, uint32_t tag);
void postings_fini(struct postings *p); /* leaves it empty */

#endif

/* A turn: what one poll of a connection may do on its worker before other tasks run.
 *
 * Calls that read many jobs, take many ids or specs, or send much do so in portions that
 * fit into a turn; so do receiving, and answering calls that arrived together. Three sums
 * count what was done:
 *
 *   entries  jobs looked at, ids taken, calls begun; a JSON value counts a quarter
 *   bytes    received, scanned, taken from a file, unpacked, put into a reply, or of a
 *            long message that is freed
 *   facts    appended to the store
 *
 * When a sum is used up the task wakes itself, leaves its place among the connections of
 * its user (share.h), and goes on behind the others. A single item that is larger than
 * the rest of a turn (a spec, a line of a list, a piece of output) is done all the same:
 * a turn is exceeded by at most one item. Scanning and freeing use up the turn, not more.
 *
 * Work that cannot be divided runs on a thread that is no worker (volt_block_in_place()):
 *
 *   parsing a long message without a list of ids or specs, and     the turn ends there
 *   the beginning of its call; a Read of more than a turn in one
 *   answer, or of bytes that are not in memory; a reload
 *   sorting ids, a page of the store, opening an output            the turn goes on */
#ifndef VOLTD_CALL_TURN_H
#define VOLTD_CALL_TURN_H

#include "base/atomic.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_ENTRIES 500
#define TURN_BYTES   65536
#define TURN_FACTS   64
#define TURN_TOKENS  4 /* JSON values that count as one entry */

struct turn { /* zero-initialised: a turn that begins */
    size_t entries, bytes, facts;
    bool aside; /* the rest runs on a thread that is no worker */
};

/* Sums and maxima over all turns; any thread. Independent numbers: relaxed. */
struct turn_counts {
    vat_u64 divided; /* turns that ended with more to do */
    vat_u64 aside;   /* calls begun on a thread that is no worker */
    vat_u64 largest_entries, largest_bytes, largest_facts;
};

static inline bool turn_is_over(const struct turn *t)
{
    return t->aside || t->entries >= TURN_ENTRIES || t->bytes >= TURN_BYTES ||
           t->facts >= TURN_FACTS;
}
static inline size_t turn_entries_left(const struct turn *t)
{
    return t->entries < TURN_ENTRIES ? TURN_ENTRIES - t->entries : 0;
}
static inline size_t turn_bytes_left(const struct turn *t)
{
    return t->bytes < TURN_BYTES ? TURN_BYTES - t->bytes : 0;
}
static inline size_t turn_facts_left(const struct turn *t)
{
    return t->facts < TURN_FACTS ? TURN_FACTS - t->facts : 0;
}
static inline void turn_did(struct turn *t, size_t entries, size_t bytes)
{
    t->entries += entries;
    t->bytes += bytes;
}
/* Counts bytes of work that is not divided: at most what is left of the turn. */
static inline void turn_did_whole(struct turn *t, size_t bytes)
{
    const size_t left = turn_bytes_left(t);

    t->bytes += bytes < left ? bytes : left;
}
/* Adds the turn to the counts. */
void turn_end(const struct turn *t, struct turn_counts *counts);

#endif

/* A turn: what one poll of a connection may do on its worker before other tasks run.
 *
 * Calls that read many jobs, take many ids or specs, or send much do so in portions that
 * fit into a turn; so do receiving, and answering calls that arrived together. A quota
 * counts what was done:
 *
 *   entries  jobs looked at, ids taken, calls begun; a JSON value counts a quarter
 *   bytes    received, scanned, taken from a file, unpacked, put into a reply, or of a
 *            long message that is freed
 *   facts    appended to the store
 *
 * When the quota is used up the task wakes itself, leaves its place among the connections
 * of its user (share.h), and goes on behind the others. A single item that is larger than
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
#include "daemon/job/quota.h"

#define TURN_TOKENS 4 /* JSON values that count as one entry */

struct turn { /* zero-initialised: a turn that begins */
    struct quota quota;
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
    return t->aside || quota_is_over(&t->quota);
}
/* Charges bytes of work that is not divided: at most what is left of the turn. */
static inline void turn_did_whole(struct turn *t, size_t bytes)
{
    const size_t left = quota_bytes_left(&t->quota);

    quota_charge(&t->quota, 0, bytes < left ? bytes : left, 0);
}
/* Adds the turn to the counts. */
void turn_end(const struct turn *t, struct turn_counts *counts);

#endif

/* The past: how jobs ended that are kept no longer, so that a client that waits for
 * one, or asks late, still gets the exact result.
 *
 * Neighbours in id with the same owner and end share one range: a batch of a
 * million equal ends is one entry. At TOMBSTONES_MAX ranges the quarter with the lowest
 * ids goes. Lock held in all functions (core's). */
#ifndef VOLTD_CORE_TOMBSTONES_H
#define VOLTD_CORE_TOMBSTONES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/job/job.h"

#define TOMBSTONES_MAX 16384

struct tombstone {
    uint64_t first, last; /* job ids, both included */
    uint64_t ended_usec;  /* of the one that ended last */
    uid_t uid;
    struct job_end end;
};

/* Zero-initialised is empty. Ranges are in order of their ids and do not overlap. */
struct tombstones {
    struct tombstone *range;
    size_t n, capacity;
};

/* Remembers one ended job, not yet in there. Without memory it is not remembered. */
void tombstones_add(struct tombstones *p, uint64_t id, uid_t uid,
                    const struct job_status *st);
/* Forgets one, if it is there. */
void tombstones_remove(struct tombstones *p, uint64_t id);
/* NULL: not known, or not any more. Borrowed until the next tombstones_add(). */
const struct tombstone *tombstones_find(const struct tombstones *p, uint64_t id);
void tombstones_fini(struct tombstones *p);

#endif

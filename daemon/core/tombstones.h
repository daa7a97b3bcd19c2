/* Tombstones: how forgotten jobs ended, so that a late Wait still gets the exact result.
 *
 * Jobs with consecutive ids, one owner and one end share a range: a million equal ends
 * are one entry. At TOMBSTONES_MAX ranges the quarter with the lowest ids is dropped.
 * Lock held in all functions. */
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
    uint64_t ended_usec;  /* the latest end of the range */
    uid_t uid;
    struct job_end end;
};

/* Zero-initialised is empty. Ranges are in order of ids and disjoint. */
struct tombstones {
    struct tombstone *range;
    size_t n, capacity;
};

/* Adds an ended job that is not in here. Without memory the job is not remembered. */
void tombstones_add(struct tombstones *p, uint64_t id, uid_t uid,
                    const struct job_status *st);
/* Removes a job, if it is in here. */
void tombstones_remove(struct tombstones *p, uint64_t id);
/* Returns the range of a job, borrowed until the next tombstones_add(). NULL: unknown, or
 * dropped. */
const struct tombstone *tombstones_find(const struct tombstones *p, uint64_t id);
void tombstones_fini(struct tombstones *p);

#endif

/* The past: how jobs ended that are kept no longer, so that a client that waits for
 * one, or asks late, still gets the exact result.
 *
 * Neighbours in id with the same owner and end share one range: a batch of a
 * million equal ends is one entry. At PAST_MAX ranges the quarter with the lowest ids
 * goes. Lock held in all functions (the manager's). */
#ifndef VOLTD_EXEC_PAST_H
#define VOLTD_EXEC_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/job/job.h"

#define PAST_MAX 16384

struct past_range {
    uint64_t first, last; /* job ids, both included */
    uint64_t ended_usec;  /* of the one that ended last */
    uid_t uid;
    struct job_end end;
};

/* Zero-initialised is empty. Ranges are in order of their ids and do not overlap. */
struct past {
    struct past_range *range;
    size_t n, capacity;
};

/* Remembers one ended job, not yet in there. Without memory it is not remembered. */
void past_add(struct past *p, uint64_t id, uid_t uid, const struct job_status *st);
/* Forgets one, if it is there. */
void past_remove(struct past *p, uint64_t id);
/* NULL: not known, or not any more. Borrowed until the next past_add(). */
const struct past_range *past_find(const struct past *p, uint64_t id);
void past_fini(struct past *p);

#endif

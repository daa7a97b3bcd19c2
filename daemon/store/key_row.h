/* The stored key of an ended job. This row answers a submission that is sent again, and a
 * question about a job that was purged.
 *
 * Until the job ends its key is in its spec; this row is written in the transaction of
 * the end. The row outlives the purge of its job by retention. A row is deleted
 * KeepKeysSec= after the end, when the job is forgotten on demand, or when a later job
 * takes the key. */
#ifndef VOLTD_STORE_KEY_ROW_H
#define VOLTD_STORE_KEY_ROW_H

#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"
#include "daemon/job/job.h"

struct store_key {
    uint64_t id;                  /* of the job, which has at most one row */
    uid_t uid;                    /* the owner */
    uint64_t at_usec;             /* of the end; 0: delete the row */
    struct siphash128 name, body; /* hashes of core/keys.h, under the store's seed */
    struct job_end end;           /* of an array its worst end */
};

#endif

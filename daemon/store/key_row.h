/* The key of a job that has ended, as the store keeps it: what a submission that is sent
 * once more is answered by, and a question about the job when it has left the history.
 *
 * Written with the end of the job, in one transaction; until then the key is in the job's
 * spec. It stays when retention lets the job go, and leaves KeepKeysSec= after the end,
 * or with the job when that is forgotten on demand, or when a later job takes the key. */
#ifndef VOLTD_STORE_KEY_ROW_H
#define VOLTD_STORE_KEY_ROW_H

#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"
#include "daemon/job/job.h"

struct store_key {
    uint64_t id;                  /* of the job; it has one row at most */
    uid_t uid;                    /* the owner */
    uint64_t at_usec;             /* of the end; 0: the row goes */
    struct siphash128 name, body; /* core/keys.h; under the store's seed */
    struct job_end end;           /* of an array its worst */
};

#endif

/* The live jobs of this voltd, as a handle. Their inside is in state.h, for the rooms
 * that work under the lock on all jobs. */
#ifndef VOLTD_CORE_CORE_H
#define VOLTD_CORE_CORE_H

#include <stdint.h>
#include "daemon/job/job.h"

struct core;
struct kinds;
struct siphash_key;
struct volt_runtime;

/* What one hold of the lock, or one poll, may look at, unpack and append at most, and one
 * thing more; then others have their turn. call/turn.h counts in the same units. A search
 * for circles is one thing, and larger: CIRCLE_LOOKS (circle.h), DEADLOCK_LOOKS
 * (deadlock.h). */
#define CORE_ENTRIES 500   /* jobs, elements, events */
#define CORE_BYTES   65536 /* of specs */
#define CORE_FACTS   64

/* Work done while the lock is held once. Others wait for it. */
struct core_held {
    uint64_t entries; /* jobs, elements, events looked at */
    uint64_t bytes;   /* of the specs that are unpacked for it */
    uint64_t facts;   /* appended to the store */
};

struct core_counts {
    uint64_t submitted, ended;            /* jobs; elements of arrays counted */
    uint64_t by_state[JOB_STATE_COUNT];   /* now */
    uint64_t by_result[JOB_RESULT_COUNT]; /* ever */
    uint64_t orphans;
    /* At the start, of the jobs in the store that had not ended: queued; running; ended
     * while nobody looked; with an end that cannot be known; said to start, and never
     * started. */
    uint64_t recovered_queued, recovered_running, recovered_ended, recovered_lost,
        recovered_unstarted;
    uint32_t slots, slots_used; /* of the machine */
    uint32_t slots_lent;        /* now: lent.h */
    uint64_t slots_over;        /* times that one was taken back while none was free */
    struct core_held held;      /* the largest of each */
    uint64_t told; /* the most waits that were looked at in one poll, to tell of events */
    uint64_t read_rows, read_bytes; /* the most of the store before others could read */
};

/* What jobs are held against, of the configuration in force. */
struct job_limits {
    uint64_t max_jobs, max_jobs_per_user, max_bytes_per_user; /* that have not ended */
    uint64_t max_array;
    uint64_t keep_ended_jobs;   /* in memory */
    uint64_t max_keys_per_user; /* also of jobs that have ended */
};

/* Of zeroed memory, whose pages are not touched before they are used: everything is
 * empty, and nothing runs; copies the secret, borrows the rest. Admission, log, store and
 * what the rooms above have are set by their owners (parts.h). NULL: no memory. */
struct core *core_new(struct volt_runtime *rt, const struct kinds *kinds,
                      const struct siphash_key *secret);
/* Frees the table with its jobs; no task is left. */
void core_forget_all(struct core *core);
/* The rest, with admission and log, after that; the store has been closed. */
void core_free(struct core *core);

#endif

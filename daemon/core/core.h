/* The live jobs of this voltd, as a handle. Only core's own files see the inside
 * (state.h); other rooms find its members by struct parts (parts.h). */
#ifndef VOLTD_CORE_CORE_H
#define VOLTD_CORE_CORE_H

#include <stdint.h>
#include "daemon/job/job.h"
#include "daemon/job/quota.h"

struct core;
struct kinds;
struct siphash_key;
struct volt_runtime;

struct core_counts {
    uint64_t submitted, ended;            /* jobs, and elements of arrays */
    uint64_t by_state[JOB_STATE_COUNT];   /* now */
    uint64_t by_result[JOB_RESULT_COUNT]; /* replayed ends included */
    uint64_t orphans;
    /* Found at the start, of stored jobs without an end: queued; running; ended while
     * voltd was down; ended in an unknown way; marked as starting but never started. */
    uint64_t recovered_queued, recovered_running, recovered_ended, recovered_lost,
        recovered_unstarted;
    uint32_t slots, slots_used; /* of the machine */
    uint32_t slots_lent;        /* now lent (lent.h) */
    uint64_t slots_over;        /* lent slots taken back while none was free */
    struct quota held;          /* the most that one hold of the lock used of each */
    uint64_t visited; /* the most subscriptions visited by one poll that notifies */
    uint64_t read_rows, read_bytes; /* the most read from the store in one turn */
};

/* Limits of jobs, from the configuration in force. */
struct job_limits {
    uint64_t max_jobs, max_jobs_per_user, max_bytes_per_user; /* of jobs that have not
                                                               * ended */
    uint64_t max_array;
    uint64_t keep_ended_jobs;   /* in memory */
    uint64_t max_keys_per_user; /* ended jobs included */
};

/* Returns a new core in zeroed memory, whose pages are not touched before use; every
 * table is empty. NULL: no memory. Copies the secret, borrows the rest. The owners of
 * admission, log, store and of the rooms above set their parts later (parts.h). */
struct core *core_new(struct volt_runtime *rt, const struct kinds *kinds,
                      const struct siphash_key *secret);
/* Frees the table and its jobs. No task may be left. */
void core_forget_all(struct core *core);
/* Frees the rest, with admission and log, after core_forget_all(). The store must be
 * closed. */
void core_free(struct core *core);

#endif

/* A quota: how much a turn (call/turn.h) may do before other tasks run, and how much one
 * hold of the lock on all jobs (core/tx.h) may do before others get the lock.
 *
 *   entries  jobs, elements, leases and events looked at; a job of the store counts more
 *   bytes    received, written, or of specs
 *   facts    appended to the store
 *
 * It is passed down by pointer, and what is done is charged where it is done. A portion
 * of work ends when the quota is used up; its last step may exceed the quota. */
#ifndef VOLTD_JOB_QUOTA_H
#define VOLTD_JOB_QUOTA_H

#include <stdbool.h>
#include <stddef.h>

#define QUOTA_ENTRIES 500
#define QUOTA_BYTES   65536
#define QUOTA_FACTS   64

struct quota { /* used up so far; zero-initialised: nothing */
    size_t entries, bytes, facts;
};

/* Charges q. NULL, here and below: a quota that is never used up. */
static inline void quota_charge(struct quota *q, size_t entries, size_t bytes,
                                size_t facts)
{
    if (!q)
        return;
    q->entries += entries;
    q->bytes += bytes;
    q->facts += facts;
}
static inline size_t quota_entries_left(const struct quota *q)
{
    return !q                           ? QUOTA_ENTRIES
           : q->entries < QUOTA_ENTRIES ? QUOTA_ENTRIES - q->entries
                                        : 0;
}
static inline size_t quota_bytes_left(const struct quota *q)
{
    return !q ? QUOTA_BYTES : q->bytes < QUOTA_BYTES ? QUOTA_BYTES - q->bytes : 0;
}
static inline size_t quota_facts_left(const struct quota *q)
{
    return !q ? QUOTA_FACTS : q->facts < QUOTA_FACTS ? QUOTA_FACTS - q->facts : 0;
}
static inline bool quota_is_over(const struct quota *q)
{
    return !quota_entries_left(q) || !quota_bytes_left(q) || !quota_facts_left(q);
}

#endif

/* Store, retention: decides which ended jobs leave the store, and when. A job leaves as a
 * whole, with its facts and its output. A job that has not ended never leaves. */
#ifndef VOLTD_STORE_RETENTION_H
#define VOLTD_STORE_RETENTION_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/store/commit_log.h"
#include "daemon/store/key_row.h"
#include "daemon/store/store.h"

/* Limits of history. While the writer is idle it purges ended jobs beyond either limit,
 * the oldest of each owner first. */
struct store_retention {
    uint64_t jobs; /* ended jobs; an array counts as its elements. Owners share the limit
                    * (owners.h). The newest job of each owner stays, unless the limit is
                    * 0 */
    uint64_t usec; /* time since a job's end, guarded against clock jumps (age.h) */
    uint64_t key_usec; /* time since a job's end after which its key is deleted */
    /* Called on the writer's thread, without a lock, when a key was deleted by key_usec.
     * May take `core.lock`. NULL: not called. */
    void (*key_gone)(void *arg, const struct store_key *key);
    void *key_gone_arg;
    /* Called on the writer's thread, without a lock, when a job of kind exec was purged,
     * by a limit or on demand. NULL: not called. */
    void (*gone)(void *arg, uint64_t id);
    void *gone_arg;
    /* Returns how many of these jobs of one owner, counted from the first, no other job
     * waits for. The next job and all after it stay until the function is called again.
     * The others leave only when every fact is durable that was appended before the call,
     * as these include the MET events of jobs that waited. Called on the writer's thread,
     * without a lock. May take `core.lock`. NULL: no job is waited for. */
    size_t (*unneeded)(void *arg, const uint64_t *ids, size_t n);
    void *unneeded_arg;
};

struct store_retention_ops {
    void (*retain)(struct store *s, const struct store_retention *retention);
    int (*forget)(struct store *s, const uint64_t *ids, size_t n,
                  struct store_commit *commit); /* store_forget() */
};

/* Sets the limits, from now on; copies them. Any thread; `core.lock` may be held. */
static inline void store_retain(struct store *s, const struct store_retention *retention)
{
    s->retention->retain(s, retention);
}

/* Appends an order to purge these ended jobs, in order with the facts. Ids that are
 * unknown or have not ended are ignored. The keys leave too, also those of jobs purged
 * before. Copies ids. Initialises `commit` as store_append() does; it must not be NULL.
 * Returns 0 or -ENOMEM. Has no news. Never blocks. Any thread; `core.lock` may be
 * held. */
static inline int store_forget(struct store *s, const uint64_t *ids, size_t n,
                               struct store_commit *commit)
{
    *commit = (struct store_commit){.store = s};
    return s->retention->forget(s, ids, n, commit);
}

#endif

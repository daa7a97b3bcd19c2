/* Store, retention: which ended jobs leave the store, and when. A job leaves as a whole:
 * its facts and its output. One that has not ended never leaves. */
#ifndef VOLTD_STORE_RETENTION_H
#define VOLTD_STORE_RETENTION_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/store/commit_log.h"
#include "daemon/store/key_row.h"
#include "daemon/store/store.h"

/* Ended jobs beyond either limit leave, the oldest of their owner first, while the writer
 * is idle. */
struct store_retention {
    uint64_t jobs; /* their number, that of an array's elements for an array. Owners share
                    * it (owners.h); the newest of each stays, unless it is 0 */
    uint64_t usec; /* since their end; ages are guarded against clock jumps (age.h) */
    uint64_t key_usec; /* keys of jobs leave so long after their end */
    /* Called on the writer's thread, without a lock, when a key has left by this limit;
     * may take `core.lock`. NULL: nobody is notified. */
    void (*key_gone)(void *arg, const struct store_key *key);
    void *key_gone_arg;
    /* Called on the writer's thread, without a lock, when a job of kind exec has left, by
     * a limit or on demand; NULL: nobody is notified. */
    void (*gone)(void *arg, uint64_t id);
    void *gone_arg;
    /* Returns how many of these jobs, from the first on, are not waited for by others.
     * The one after them stays, and all behind it, until it is asked again; they are of
     * one owner. The others
     * leave when all is committed that was appended before the answer: what was told of
     * them to jobs that waited. Called on the writer's thread, without a lock; may take
     * `core.lock`. NULL: none is waited for. */
    size_t (*unneeded)(void *arg, const uint64_t *ids, size_t n);
    void *unneeded_arg;
};

struct store_retention_ops {
    void (*retain)(struct store *s, const struct store_retention *retention);
    int (*forget)(struct store *s, const uint64_t *ids, size_t n,
                  struct store_commit *commit); /* store_forget() */
};

/* Sets the limits, from now on. Copied. Any thread; `core.lock` may be held. */
static inline void store_retain(struct store *s, const struct store_retention *retention)
{
    s->retention->retain(s, retention);
}

/* Appends, in order with the facts, that these ended jobs leave now; ids that are unknown
 * or have not ended are ignored. Their keys leave, also of
 * jobs that are no longer there. Copies ids. Sets commit up, as store_append() does; it
 * is not NULL. 0; -ENOMEM. No news. Never blocks; any thread, `core.lock` may be held.
 * */
static inline int store_forget(struct store *s, const uint64_t *ids, size_t n,
                               struct store_commit *commit)
{
    *commit = (struct store_commit){.store = s};
    return s->retention->forget(s, ids, n, commit);
}

#endif

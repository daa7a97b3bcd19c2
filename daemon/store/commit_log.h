/* Store, commit log: facts become durable in the order in which they were appended.
 *
 *   1. append copies the facts into the group that is being filled. It never blocks and
 *      wakes nobody, so it may be called under a lock.
 *   2. kick lets an idle writer begin. Polling a commit kicks too.
 *   3. The writer takes the whole group and makes it durable by one commit of its own;
 *      what is appended meanwhile is the next group: the busier, the larger the groups.
 *   4. Every commit of that group becomes READY. Acknowledgements are
 *      sent after that and never before.
 *
 * An append without facts is a barrier: READY when all that was appended before is
 * durable.
 *
 * News: a fact that has news (fact.h) gets a number at its commit, in order of append,
 * stored with it. The subscriber is notified of each commit between 3 and 4. After a
 * restart the load brings the same numbers again, and new ones follow: a reader that was
 * notified up to a number has missed nothing before it, whatever happened to the daemon.
 *
 * When the disk is full, submissions are refused (-ENOSPC) and everything else waits
 * until it is durable. When the disk lies (a failed fsync), submissions are refused
 * (-EIO) and everything else waits until a full copy of the store has been made. The same
 * when anything else keeps the store from being written, until it does not: no submission
 * is left to wait for that. (Where a commit has failed and the process dies before the
 * copy, a submission that was refused so may be found in the store.) */
#ifndef VOLTD_STORE_COMMIT_LOG_H
#define VOLTD_STORE_COMMIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <volt/task.h>
#include "base/list.h"
#include "daemon/store/store.h"

struct job_news;
struct store_fact;

/* Waits for the group of one append: a leaf future. Must not move between append and
 * _fini. Zero-initialised is "nothing pending" and may be finished. */
struct store_commit {
    struct store *store;
    int status;
    bool patient;   /* the caller's, once it is appended: others may be waited for */
    bool submits;   /* backend's */
    uint64_t group; /* backend's; 0: over */
    struct volt_waker waker; /* backend's */
    struct list_node node;   /* backend's */
};

#define STORE_FILL_MAX 64 /* facts that a backend asks for at once */

/* Brings the next facts, up to max; 0: there are no more. What they point to stays until
 * it is called again. */
typedef size_t store_fill_fn(void *arg, struct store_fact *facts, size_t max);

/* Takes durable news, in order of their numbers. n 0: all of a commit have been brought,
 * watchers may be woken. On the writer's thread, without a lock of the store; a backend
 * without a writer calls it within append, under its lock, and with n 0 within kick. So
 * it may take `manager.log_lock`, and never `manager.lock`. */
typedef void store_news_fn(void *arg, const struct job_news *news, size_t n);

/* How the writer is, for people. */
struct store_health {
    bool full, failing; /* submissions are refused */
};

struct store_log_ops {
    bool durable;
    /* facts, then what fill (NULL: nothing) brings */
    int (*append)(struct store *s, const struct store_fact *facts, size_t n,
                  store_fill_fn *fill, void *arg, struct store_commit *commit);
    void (*kick)(struct store *s, bool patient);
    enum volt_poll (*commit_poll)(struct volt_cx *cx, struct store_commit *c);
    void (*commit_fini)(struct store_commit *c);
    void (*subscribe)(struct store *s, store_news_fn *fn, void *arg);
    void (*numbers)(struct store *s, uint64_t *ret_first, uint64_t *ret_last);
    void (*health)(struct store *s, struct store_health *ret);
};

/* Appends n facts that become durable together or not at all; copies them. Sets commit
 * up, NULL: nobody waits. 0; -ENOSPC, -EIO (submissions only), -ENOMEM: nothing was
 * appended. Never blocks. Any thread; `manager.lock` may be held. */
static inline int store_append(struct store *s, const struct store_fact *facts, size_t n,
                               struct store_commit *commit)
{
    if (commit)
        *commit = (struct store_commit){.store = s};
    return s->log->append(s, facts, n, NULL, NULL, commit);
}

/* The same of so many that they are not to be in memory at once. */
static inline int store_append_filled(struct store *s, store_fill_fn *fill, void *arg,
                                      struct store_commit *commit)
{
    *commit = (struct store_commit){.store = s};
    return s->log->append(s, NULL, 0, fill, arg, commit);
}

/* patient: the writer may wait a little for more. Any thread, no lock held. */
static inline void store_kick(struct store *s, bool patient)
{
    s->log->kick(s, patient);
}

/* READY: durable, or failed: see commit->status (0 or -errno). Another task than before
 * may poll it once the earlier one has stopped to. No lock held. */
static inline enum volt_poll store_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    return c->store->log->commit_poll(cx, c);
}

/* Any state. What was appended stays appended. Any thread, no lock held. */
static inline void store_commit_fini(struct store_commit *c)
{
    if (c->store)
        c->store->log->commit_fini(c);
    c->store = NULL;
}

/* One subscriber; before the load. */
static inline void store_subscribe(struct store *s, store_news_fn *fn, void *arg)
{
    s->log->subscribe(s, fn, arg);
}

/* Numbers of news that this store can have given are greater than first and at most last.
 * Before the load. */
static inline void store_numbers(struct store *s, uint64_t *ret_first, uint64_t *ret_last)
{
    s->log->numbers(s, ret_first, ret_last);
}

/* Whether a committed fact survives the process; submitters are told. Never changes. */
static inline bool store_durable(const struct store *s)
{
    return s->log->durable;
}

/* Any thread; `manager.lock` may be held. */
static inline void store_health(struct store *s, struct store_health *ret)
{
    s->log->health(s, ret);
}

#endif

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
 * until it is durable. When the disk fails (a failed fsync), voltd ends, and the next one
 * goes on with what is on disk. When anything else keeps the store from being written,
 * submissions are refused (-EIO) and everything else waits until it does not: no
 * submission is left to wait for that. What is asked for and ends nothing (a hold, a
 * pause, an edit, a setting) is not appended then, as the room that is left is for ends:
 * store_refusal(). (Where a commit has failed and the process dies before the next one, a
 * submission that was refused or not answered may be found in the store.) */
#ifndef VOLTD_STORE_COMMIT_LOG_H
#define VOLTD_STORE_COMMIT_LOG_H

#include <errno.h>
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
    struct volt_waker waker;   /* backend's */
    struct list_node node;     /* backend's */
    struct store_draft *draft; /* backend's: what it has to tell yet */
};

/* Facts that are appended together, and are too many to be brought at once. */
struct store_draft { /* the head of a backend's own */
    struct store *store;
};

/* Takes durable news, in order of their numbers. n 0: all of a commit have been brought,
 * watchers may be woken. On the writer's thread, without a lock of the store; a backend
 * without a writer calls it within append, under its lock, and with n 0 within kick. So
 * it may take `event_log.lock`, and never `core.lock`. */
typedef void store_news_fn(void *arg, const struct job_news *news, size_t n);

/* How the writer is, for people. */
struct store_health {
    bool full, failing; /* submissions are refused */
};

struct store_log_ops {
    int (*append)(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit);
    struct store_draft *(*draft)(struct store *s);
    void (*draft_add)(struct store_draft *d, const struct store_fact *facts, size_t n);
    int (*draft_append)(struct store_draft *d, struct store_commit *commit);
    void (*draft_free)(struct store_draft *d);
    void (*kick)(struct store *s, bool patient);
    enum volt_poll (*commit_poll)(struct volt_cx *cx, struct store_commit *c);
    void (*commit_fini)(struct store_commit *c);
    void (*subscribe)(struct store *s, store_news_fn *fn, void *arg);
    void (*numbers)(struct store *s, uint64_t *ret_first, uint64_t *ret_last);
    void (*health)(struct store *s, struct store_health *ret);
};

/* Appends n facts that become durable together or not at all; copies them. Sets commit
 * up, NULL: nobody waits. 0; -ENOSPC, -EIO (submissions only), -ENOMEM: nothing was
 * appended. Never blocks. Any thread; `core.lock` may be held. */
static inline int store_append(struct store *s, const struct store_fact *facts, size_t n,
                               struct store_commit *commit)
{
    if (commit)
        *commit = (struct store_commit){.store = s};
    return s->log->append(s, facts, n, commit);
}

/* The commit is that of all that was appended before it. Nothing can be refused, as
 * nothing is appended. The caller kicks the store. */
static inline void store_barrier(struct store *s, struct store_commit *commit)
{
    (void)store_append(s, NULL, 0, commit);
}

/* store_append() in portions: an empty draft, which takes facts any number of times and
 * is then appended or freed. NULL: no memory. Of one thread at a time. */
static inline struct store_draft *store_draft(struct store *s)
{
    return s->log->draft(s);
}
/* Copies them. That there is no memory shows when the draft is appended. */
static inline void store_draft_add(struct store_draft *d, const struct store_fact *facts,
                                   size_t n)
{
    d->store->log->draft_add(d, facts, n);
}
/* Takes the draft in any case; returns as store_append(). */
static inline int store_draft_append(struct store_draft *d, struct store_commit *commit)
{
    *commit = (struct store_commit){.store = d->store};
    return d->store->log->draft_append(d, commit);
}
static inline void store_draft_free(struct store_draft *d) /* NULL: nothing */
{
    if (d)
        d->store->log->draft_free(d);
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

/* Whether a committed fact survives a power cut; submitters are told. Never changes. */
static inline bool store_durable(const struct store *s)
{
    return s->durable;
}

/* Any thread; `core.lock` may be held. */
static inline void store_health(struct store *s, struct store_health *ret)
{
    s->log->health(s, ret);
}

/* Whether submissions are refused now: -ENOSPC, -EIO; 0: they are not. Any thread;
 * `core.lock` may be held. */
static inline int store_refusal(struct store *s)
{
    struct store_health health;

    store_health(s, &health);
    return health.failing ? -EIO : health.full ? -ENOSPC : 0;
}

/* The same in words; NULL: that is no refusal of the store. */
static inline const char *store_refusal_text(int error)
{
    switch (error) {
    case -ENOSPC:
        return "the disk of the store is full; the log of voltd says where";
    case -EIO:
        return "the store cannot be written; the log of voltd says why";
    default:
        return NULL;
    }
}

#endif

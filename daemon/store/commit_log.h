/* Store, commit log: makes facts durable in the order in which they were appended.
 *
 *   1. append copies the facts into the group that is being filled. Append never
 *      blocks and wakes no thread, so it may be called under a lock.
 *   2. kick lets an idle writer begin. Polling a commit kicks too.
 *   3. The writer takes the whole group and makes it durable by one transaction. Facts
 *      that are appended during that form the next group: the busier, the larger.
 *   4. Every commit of the group becomes READY. Replies are sent only after that.
 *
 * An append without facts is a barrier. That commit is READY when everything that was
 * appended before it is durable.
 *
 * News: some facts have news (fact.h). The commit gives them numbers in order of append,
 * which are stored with the facts. The subscriber is notified of each commit between 3
 * and 4. After a restart the load brings the same numbers again, and new numbers follow
 * them. So a reader that was notified up to a number has missed nothing before it, even
 * after a crash.
 *
 * When the store cannot be written:
 *
 *   full disk             submissions are refused (-ENOSPC), all other facts wait
 *   failed fsync or I/O   voltd ends; the next voltd goes on with the file on disk
 *   any other reason      submissions are refused (-EIO), also those that were appended
 *                         already; all other facts wait
 *
 * Requests that end nothing (a hold, a pause, an edit, a setting) are not appended in
 * these states, as the room that is left is for ends: store_refusal(). If a commit has
 * failed and voltd dies before the next commit, the store may contain a submission that
 * was refused or not answered. */
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

/* A leaf future: waits until the facts of one append are durable. The struct must not
 * move between append and _fini. Zero-initialised means "no append is pending", and may
 * be finished. */
struct store_commit {
    struct store *store;
    int status;
    bool patient;   /* set by the caller after append: the writer may wait for more
                     * facts */
    bool submits;   /* backend's */
    uint64_t group; /* backend's; 0: no longer pending */
    struct volt_waker waker;   /* backend's */
    struct list_node node;     /* backend's */
    struct store_draft *draft; /* backend's: facts that still have news to deliver */
};

/* Facts that are appended together, but are too many to be passed in one call. */
struct store_draft { /* the head of the backend's own struct */
    struct store *store;
};

/* Receives durable news in order of their numbers. n 0: all news of a commit were passed,
 * so watchers may be woken. Called on the writer's thread without a lock of the store. A
 * backend without a writer calls it within append under its lock, and with n 0 within
 * kick. The function may take `event_log.lock`, never `core.lock`. */
typedef void store_news_fn(void *arg, const struct job_news *news, size_t n);

/* Why the writer cannot write, for status reports, and whether it moves. */
struct store_health {
    bool full, failing; /* submissions are refused */
    bool waits;         /* the writer waits for facts, for a retry or for the disk */
    uint64_t steps;     /* changes with each step of the writer */
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

/* Appends copies of n facts, which become durable together or not at all. Initialises
 * `commit`; NULL: the caller does not wait. Returns:
 *   0
 *   -ENOSPC, -EIO  the store refuses submissions; nothing was appended
 *   -ENOMEM        nothing was appended
 * Never blocks. Any thread; `core.lock` may be held. */
static inline int store_append(struct store *s, const struct store_fact *facts, size_t n,
                               struct store_commit *commit)
{
    if (commit)
        *commit = (struct store_commit){.store = s};
    return s->log->append(s, facts, n, commit);
}

/* Appends a barrier: the commit is READY when all earlier appends are durable. Never
 * refused. The caller kicks the store. */
static inline void store_barrier(struct store *s, struct store_commit *commit)
{
    (void)store_append(s, NULL, 0, commit);
}

/* Returns a new empty draft, which takes facts in portions and is then appended or freed.
 * NULL: no memory. Used by a single thread at a time. */
static inline struct store_draft *store_draft(struct store *s)
{
    return s->log->draft(s);
}
/* Adds copies of the facts. Lack of memory shows when the draft is appended. */
static inline void store_draft_add(struct store_draft *d, const struct store_fact *facts,
                                   size_t n)
{
    d->store->log->draft_add(d, facts, n);
}
/* Appends the facts of the draft. Takes the draft, also on error. Returns as
 * store_append(). */
static inline int store_draft_append(struct store_draft *d, struct store_commit *commit)
{
    *commit = (struct store_commit){.store = d->store};
    return d->store->log->draft_append(d, commit);
}
static inline void store_draft_free(struct store_draft *d) /* NULL is allowed */
{
    if (d)
        d->store->log->draft_free(d);
}

/* Wakes the writer if facts are waiting. patient: the writer may wait GROUP_PACE for more
 * facts. Any thread, no lock held. */
static inline void store_kick(struct store *s, bool patient)
{
    s->log->kick(s, patient);
}

/* Returns READY when the facts are durable or have failed: see commit->status (0 or
 * -errno). A second task may poll the commit after the first one has stopped. No lock
 * held. */
static inline enum volt_poll store_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    return c->store->log->commit_poll(cx, c);
}

/* Stops waiting; appended facts stay appended. Any state of the commit. Any thread, no
 * lock held. */
static inline void store_commit_fini(struct store_commit *c)
{
    if (c->store)
        c->store->log->commit_fini(c);
    c->store = NULL;
}

/* Sets the one subscriber. To be called before the load. */
static inline void store_subscribe(struct store *s, store_news_fn *fn, void *arg)
{
    s->log->subscribe(s, fn, arg);
}

/* Returns the range of numbers that this store can have given to news: greater than
 * *ret_first, at most *ret_last. To be called before the load. */
static inline void store_numbers(struct store *s, uint64_t *ret_first, uint64_t *ret_last)
{
    s->log->numbers(s, ret_first, ret_last);
}

/* Returns whether a committed fact survives a power cut; replies to submissions say so.
 * The answer never changes. */
static inline bool store_durable(const struct store *s)
{
    return s->durable;
}

/* Returns the state of the writer. Any thread; `core.lock` may be held. */
static inline void store_health(struct store *s, struct store_health *ret)
{
    s->log->health(s, ret);
}

/* Returns whether the writer waits, or has made a step since the call before with this
 * `seen`. A call that waits for the disk, however long, counts as alive: a new voltd
 * would wait as well. Any thread. */
static inline bool store_alive(struct store *s, uint64_t *seen)
{
    const uint64_t before = *seen;
    struct store_health health;

    store_health(s, &health);
    *seen = health.steps;
    return health.waits || health.steps != before;
}

/* Returns -ENOSPC or -EIO while submissions are refused, otherwise 0. Any thread;
 * `core.lock` may be held. */
static inline int store_refusal(struct store *s)
{
    struct store_health health;

    store_health(s, &health);
    return health.failing ? -EIO : health.full ? -ENOSPC : 0;
}

/* Returns the text of a refusal, static; NULL: the error is no refusal of the store. */
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

/* The store: facts about jobs, kept in the order in which they were appended.
 *
 * A backend is a table of functions. Appending copies the facts into the backend's
 * current group and never blocks; a commit is a leaf future that waits until the group is
 * kept as well as the backend can: a database backend writes groups on a thread of its
 * own, many commits to one fsync, and wakes the waiters; the memory backend is done at
 * once. What a backend keeps are events: the state of a job is their fold (job_update).
 *
 * `durable` says whether a committed fact survives the process; submitters are told. */
#ifndef VOLTD_STORE_STORE_H
#define VOLTD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include <volt/task.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"

struct store;

/* One event of one job. All pointers are borrowed for the call. */
struct store_fact {
    struct job_key key;
    const struct job_event *event; /* often one for the whole batch */
    const struct job_spec *spec;   /* SUBMIT only */
    uid_t uid;                     /* SUBMIT only: the submitter */
    gid_t gid;
};

/* Waits for the group of one append: a leaf future. Must not move between append and
 * _fini. Zero-initialised is "nothing pending" and may be finished. */
struct store_commit {
    struct store *store;
    int status;
    uint64_t group;                   /* backend's */
    struct volt_waker waker;          /* backend's */
    struct store_commit *prev, *next; /* backend's */
};

struct store_backend {
    const char *name;
    bool durable;
    int (*append)(struct store *s, const struct store_fact *facts, size_t n,
                  struct store_commit *commit);
    enum volt_poll (*commit_poll)(struct volt_cx *cx, struct store_commit *c);
    void (*commit_fini)(struct store_commit *c);
    int (*load)(struct store *s, int (*fn)(void *arg, const struct store_fact *fact),
                void *arg);
    void (*free)(struct store *s);
};

/* The head of every backend's own struct. */
struct store {
    const struct store_backend *backend;
};

/* Appends n facts that become kept together or not at all; sets commit up. 0; -ENOSPC,
 * -ENOMEM: nothing was appended. Never blocks. Any thread. */
static inline int store_append(struct store *s, const struct store_fact *facts, size_t n,
                               struct store_commit *commit)
{
    *commit = (struct store_commit){.store = s};
    return s->backend->append(s, facts, n, commit);
}

/* READY: kept, or failed: see commit->status (0 or -errno). */
static inline enum volt_poll store_commit_poll(struct volt_cx *cx, struct store_commit *c)
{
    return c->store->backend->commit_poll(cx, c);
}

/* Any state. What was appended stays appended. */
static inline void store_commit_fini(struct store_commit *c)
{
    if (c->store)
        c->store->backend->commit_fini(c);
    c->store = NULL;
}

/* Calls fn for every kept fact in order until it returns non-zero, which is returned. At
 * start, before the first append. Blocks. */
static inline int store_load(struct store *s,
                             int (*fn)(void *arg, const struct store_fact *fact),
                             void *arg)
{
    return s->backend->load(s, fn, arg);
}

static inline bool store_durable(const struct store *s)
{
    return s->backend->durable;
}

/* No commit may be pending. NULL is allowed. */
static inline void store_free(struct store *s)
{
    if (s)
        s->backend->free(s);
}

/* Keeps nothing beyond the process: a restart knows no job. Returns new;
 * NULL: no memory. */
struct store *store_memory_new(void);

#endif

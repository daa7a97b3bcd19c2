/* Store, reader: facts read back. What is read are only the kinds that a state is made
 * of: resources, queues, keys, and a job with its submission and its events; the other
 * facts show in these. */
#ifndef VOLTD_STORE_READER_H
#define VOLTD_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"
#include "daemon/store/key_row.h"
#include "daemon/store/store.h"

enum store_loaded_type {
    STORE_LOADED_JOB,      /* a job or an array: before its events */
    STORE_LOADED_EVENT,    /* an event of it, or of an element */
    STORE_LOADED_RESOURCE, /* the latest fact of each: before all jobs */
    STORE_LOADED_QUEUE,    /* likewise */
    STORE_LOADED_KEY,      /* before all jobs; of a range: of a job that has gone */
};

struct store_loaded_job {
    uint64_t id;
    uint64_t submitted_usec;
    struct job_spec *spec; /* borrowed; job_spec_ref() keeps it */
    uid_t uid;             /* the owner */
    gid_t gid;
    bool ended;          /* it is history */
    uint64_t ended_usec; /* with ended, and from store_load() only */
    uint64_t end_seq;    /* likewise, of an array: number of the news of its end */
    bool lacks_key_row;  /* with ended: it is older than rows of keys */
};

struct store_loaded_event {
    struct job_key key;            /* without attempt */
    const struct job_event *event; /* borrowed for the call, with what it points to */
};

struct store_loaded_resource {
    uid_t owner;
    const char *name;                       /* borrowed for the call */
    uint64_t capacity, per_usec, full_usec; /* fact.h */
};

struct store_loaded_queue {
    const char *name; /* borrowed for the call, with the numbers */
    const uint64_t *numbers;
    size_t n;
};

struct store_loaded {
    enum store_loaded_type type;
    uint64_t seq; /* number of its news; 0: it is older than numbers */
    union {
        struct store_loaded_job job;
        struct store_loaded_event event;
        struct store_loaded_resource resource;
        struct store_loaded_queue queue;
        struct store_key key;
    };
};

/* Non-zero ends the reading, which returns it. */
typedef int store_load_fn(void *arg, const struct store_loaded *loaded);

/* Jobs that have ended, to be read again. */
struct store_range {
    uint64_t first, last; /* ids, both included */
    bool one;             /* the job `first` alone, which may not have ended */
    bool newest_first;
    bool keys;     /* newest first: also jobs of which the key alone is left */
    bool of_owner; /* only those of: */
    uid_t owner;
    size_t max;      /* jobs at a time, at most STORE_RANGE_MAX */
    bool some_items; /* of arrays only their own events, and those of some elements: */
    int64_t item, item_last; /* both included */
};

#define STORE_RANGE_MAX 64

/* What was read at most before others could read. */
struct store_read_counts {
    uint64_t rows, bytes;
};

struct store_reader_ops {
    int (*load)(struct store *s, store_load_fn *fn, void *arg, struct volt_error *err);
    uint64_t (*last_id)(struct store *s);
    int (*has)(struct store *s, uint64_t id);
    int (*history)(struct store *s, const struct store_range *range, store_load_fn *fn,
                   void *arg, uint64_t *ret_at, struct volt_error *err);
    void (*most)(struct store *s, struct store_read_counts *ret);
};

/* Calls fn for everything in the store, job by job in order of their ids, in order of
 * append for each. 0; -EBADMSG: the store is damaged, err says where; another errno of
 * reading; what fn returned. Blocks; once, at start, before the first append: after it
 * the writer runs. */
static inline int store_load(struct store *s, store_load_fn *fn, void *arg,
                             struct volt_error *err)
{
    return s->reader->load(s, fn, arg, err);
}

/* The highest id that a job of this store ever had, also of those it has forgotten; 0:
 * none that it knows of. As the load has found it; any thread after it. */
static inline uint64_t store_last_id(struct store *s)
{
    return s->reader->last_id(s);
}

/* Whether a job is in the store, ended or not: 1, 0, -errno. Blocks on the disk; any
 * thread, no lock held. */
static inline int store_has(struct store *s, uint64_t id)
{
    return s->reader->has(s, id);
}

/* Calls fn for ended jobs in the range, or the one, and their events, in the order of
 * store_load(). Returns how many jobs were read, 0: none is left; *ret_at: the last one's
 * id, to go on from. -ESTALE: the latest one was forgotten while it was read: leave it
 * out and go on; -EBADMSG: damaged, with the place in err; another errno of reading; what
 * fn returned. Blocks on the disk, so not on a worker; any thread, no lock held. fn is
 * called with `read_lock` held. Holds up no writer: no transaction lasts longer than some
 * thousand rows. */
static inline int store_history(struct store *s, const struct store_range *range,
                                store_load_fn *fn, void *arg, uint64_t *ret_at,
                                struct volt_error *err)
{
    return s->reader->history(s, range, fn, arg, ret_at, err);
}

/* By store_history(), ever. Any thread. */
static inline void store_read_most(struct store *s, struct store_read_counts *ret)
{
    s->reader->most(s, ret);
}

#endif

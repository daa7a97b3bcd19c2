/* Store, reader: reads facts back. Only the kinds that make up a state are read:
 * resources, queues, keys, and jobs with their events. The effects of the other facts
 * show in these. */
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
    STORE_LOADED_JOB,      /* a job or an array; its events follow */
    STORE_LOADED_EVENT,    /* an event of the job or of an element */
    STORE_LOADED_RESOURCE, /* the latest fact of each; before all jobs */
    STORE_LOADED_QUEUE,    /* likewise */
    STORE_LOADED_KEY,      /* before all jobs; in a range: of a purged job */
};

struct store_loaded_job {
    uint64_t id;
    uint64_t submitted_usec;
    struct job_spec *spec; /* borrowed; use job_spec_ref() to keep it */
    uid_t uid;             /* the owner */
    gid_t gid;
    bool ended;          /* the job is history */
    uint64_t ended_usec; /* if `ended`, by store_load() only */
    uint64_t end_seq;    /* likewise, arrays only: number of the news of the end */
    bool lacks_key_row;  /* if `ended`: stored by a version without rows of keys */
};

struct store_loaded_event {
    struct job_key key;            /* without attempt */
    const struct job_event *event; /* borrowed for the call, with all it points to */
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
    uint64_t seq; /* number of its news; 0: stored before news had numbers */
    union {
        struct store_loaded_job job;
        struct store_loaded_event event;
        struct store_loaded_resource resource;
        struct store_loaded_queue queue;
        struct store_key key;
    };
};

/* Receives one row. A non-zero return value ends the reading, which returns it. */
typedef int store_load_fn(void *arg, const struct store_loaded *loaded);

/* Ended jobs that are to be read. */
struct store_range {
    uint64_t first, last; /* ids, both included */
    bool one;             /* only the job `first`, which need not have ended */
    bool newest_first;
    bool keys;     /* with newest_first: also purged jobs that left a key */
    bool of_owner; /* only jobs of this owner: */
    uid_t owner;
    size_t max;              /* jobs per call, at most STORE_RANGE_MAX */
    bool some_items;         /* of arrays only the array's own events and those of these
                              * elements: */
    int64_t item, item_last; /* both included */
};

#define STORE_RANGE_MAX 64

/* The most that one read held the lock for. */
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

/* Calls fn for everything in the store: job by job in order of ids, the events of each in
 * order of append. Returns:
 *   0
 *   -EBADMSG       the store is damaged; err says where
 *   another errno  of reading
 *   fn's value     if fn returned non-zero
 * Blocks. To be called once, at start, before the first append; it starts the writer. */
static inline int store_load(struct store *s, store_load_fn *fn, void *arg,
                             struct volt_error *err)
{
    return s->reader->load(s, fn, arg, err);
}

/* Returns the highest id that a job of this store ever had, purged jobs included; 0: none
 * is known. The value is that of the load. Any thread after the load. */
static inline uint64_t store_last_id(struct store *s)
{
    return s->reader->last_id(s);
}

/* Returns 1 if the job is in the store, ended or not; 0 if it is not; -errno. Blocks on
 * the disk. Any thread, no lock held. */
static inline int store_has(struct store *s, uint64_t id)
{
    return s->reader->has(s, id);
}

/* Calls fn for the ended jobs in the range and their events, in the order of
 * store_load(); with range->one for that job. Returns:
 *   n > 0          jobs were read; *ret_at is the id of the last one, to go on from
 *   0              no job is left in the range
 *   -ESTALE        the job passed last was purged while it was read: drop it and go on
 *   -EBADMSG       the store is damaged; err says where
 *   another errno  of reading
 *   fn's value     if fn returned non-zero
 * Blocks on the disk, so never on a worker. Any thread, no lock held. fn is called with
 * `read_lock` held. The writer is not held up: no transaction reads more than some
 * thousand rows. */
static inline int store_history(struct store *s, const struct store_range *range,
                                store_load_fn *fn, void *arg, uint64_t *ret_at,
                                struct volt_error *err)
{
    return s->reader->history(s, range, fn, arg, ret_at, err);
}

/* Returns the most rows and bytes that store_history() ever read in one go. Any
 * thread. */
static inline void store_read_most(struct store *s, struct store_read_counts *ret)
{
    s->reader->most(s, ret);
}

#endif

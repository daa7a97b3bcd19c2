/* Questions about jobs. None changes anything. */
#ifndef VOLTD_QUERY_QUERY_H
#define VOLTD_QUERY_QUERY_H

#include <volt/volt.h>
#include "daemon/auth/auth.h"
#include "daemon/core/core.h"
#include "daemon/query/job_view.h"
#include "daemon/job/news.h"

struct event_log;

/* --- one job ------------------------------------------------------------------------
 * Functions with cx also read the store, by volt_block_in_place() on behalf of the poll
 * of cx (NULL: the caller is no worker): then also -EBADMSG, the store is damaged, or
 * another errno of reading. The others never block. */
/* 0; -ENOENT: no such job, or not the asker's (the same answer for both). */
int query_get(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct job_view *ret);
/* Like query_get(), but also reads the store. */
int query_look(struct volt_cx *cx, struct core *core, const struct asker *asker,
               uint64_t id, int64_t index, struct job_view *ret);
/* Many looks like query_look(), best in the order of the keys: elements of an array, and
 * jobs of a run, that only the store has are read a page at a time. */
struct history;
struct query_looks {
    struct core *core; /* set by the caller, with the next six */
    struct asker asker;
    bool kept;            /* also read the store; otherwise like query_get() */
    bool status_only;     /* of jobs in memory: neither spec nor what they wait for */
    uint64_t last;        /* the next looks are at all jobs up to this id; 0: not known */
    size_t most;          /* entries to read from the store at a time, at least 1 */
    struct quota *quota;  /* charged with each look; may be NULL */
    size_t read;          /* entries that the latest look read from the store */
    struct history *page; /* private, like the rest: the latest page ... */
    bool brief;           /* ... without specs */
    uint64_t id;
    int64_t index;
};
#define QUERY_LOOKS_PAGE 32768 /* bytes that it takes, roughly */
int query_looks_next(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                     struct job_view *ret);
void query_looks_fini(struct query_looks *l); /* zeroes allowed */

/* --- events and filters ------------------------------------------------------------- */
/* Returns whether the filter wants the job of an event, without looking at its present
 * state and result. Charges the quota with the bytes of its spec, if unpacked. 1, 0;
 * -ENOENT: not in memory. */
int query_wants(struct core *core, const struct asker *asker, const struct job_key *key,
                const struct job_filter *f, struct quota *quota);
/* Returns in *ret a new reference to the spec of an event's job, without environment,
 * resource limits, input and script. Does not check the owner. Charges the quota with
 * unpacked bytes.
 *   0
 *   -EAGAIN: the job is about to enter the table; the log then notifies its subscribers
 *   -ENOENT: not in memory */
int query_brief_spec(struct core *core, uint64_t id, struct job_spec **ret,
                     struct quota *quota);
/* A walk calls fn for up to limit jobs behind `cursor`, by id or newest first, from
 * memory and store, a portion per call: others run in between. It stops when fn returns
 * non-zero, and returns that. It may stop before limit when few jobs match, and ends
 * where jobs are beyond since_usec or until_usec in the order asked for. fn runs without
 * the lock.
 *
 * The cursor is an id; with keys, the number of keys looked at; 0: the beginning, and
 * afterwards the end. With elements of arrays (expand.h) the place within the array
 * belongs to it.
 *
 * A portion may use half of the bytes that the quota has left for specs, plus one spec:
 * the other half is for what fn writes. A portion with elements that has too little left
 * of the quota uses it up. */
#define QUERY_KEPT_COST 8 /* entries that a job of the store counts as */
enum query_specs {
    QUERY_SPECS_BRIEF, /* may lack environment, resource limits, input and script */
    QUERY_SPECS_WHOLE,
    QUERY_SPECS_NONE, /* may be NULL */
};
struct query_walk {
    struct quota *quota;    /* bounds and is charged with a portion; NULL: an own one */
    bool kept;              /* also read the store */
    bool keys;              /* newest first: also purged jobs whose key is left */
    enum query_specs specs; /* what fn needs */
    bool shows;             /* fn shows specs: each counts, unpacked or not */
    uint64_t cursor;        /* where to begin; afterwards where to go on, 0: the end */
    size_t limit;           /* calls of fn left */
    size_t at_once;         /* jobs that a portion may pass to fn; 0: JOBS_SLICE */
    bool end;               /* the cursor is 0, or the answer is long enough */
    bool within;       /* with elements: in the last array that the cursor has passed */
    int64_t index;     /* then: its element looked at last */
    uint64_t kept_sum; /* entries of the store looked at for this answer */
    unsigned strays;   /* private */
};
int query_walk_step(struct volt_cx *cx, struct core *core, const struct asker *asker,
                    const struct job_filter *f, struct query_walk *w,
                    int (*fn)(void *arg, const struct job_view *v), void *arg);

/* --- events as they happen ---------------------------------------------------------- */
/* Returns the sequence number of the newest event. */
uint64_t query_event_seq(const struct core *core);
/* Copies the asker's events with seq > after, up to max. Returns their number, less than
 * max only at the newest event. *ret_next: the last seq read; *ret_lost: events
 * overwritten before they could be read. */
size_t query_events_read(struct core *core, const struct asker *asker, uint64_t after,
                         struct job_news *buf, size_t max, uint64_t *ret_next,
                         uint64_t *ret_lost);
/* To wait for news: volt_notified_init() on this, then read, then poll. */
struct volt_notify *query_events_notify(struct core *core);

/* --- the log: durable events -------------------------------------------------------- */
/* Event numbers are the store's: they go on over a restart, and so do readers of the log.
 * Unless somebody watches, a start may become durable, and appear in the log, together
 * with what follows it. */
struct event_log *query_log(struct core *core);
/* Starts watching, until _end. Returns the event number from which to read on after
 * looking at the jobs: events up to it already count in that look. Later events may count
 * as well, and are then seen twice. */
uint64_t query_log_begin(struct core *core);
void query_log_end(struct core *core);
/* Returns whether the log may have events of jobs whose submission is not yet in the
 * table; subscribers are notified when it is. */
bool query_log_ahead(struct core *core);

/* --- counters, output --------------------------------------------------------------- */
void query_counts(struct core *core, struct core_counts *ret);
/* Returns whether acknowledged facts survive a crash of voltd, by the store's word. */
bool query_durable(const struct core *core);
/* Returns whether the store's writer is alive: store_alive(). */
bool query_store_alive(struct core *core, uint64_t *seen);

/* Opens a job's output read-only, after checking the owner. Returns a new fd, or:
 *   -ENOENT: no such job
 *   -EISDIR: an array; its elements have output
 *   -ENODATA: the job has no output file (not started, null, path)
 *   -EIDRM: the job was purged with its output; only its end is known
 *   -ESTALE: somebody removed or replaced its file
 *   -EBADMSG: the store is damaged */
int query_open_output(struct volt_cx *cx, struct core *core, const struct asker *asker,
                      uint64_t id, int64_t index, enum job_stream stream);
/* Returns the path of the job's output file, which need not exist; new. NULL: no
 * memory. */
char *query_output_path(struct core *core, const struct job_key *key,
                        enum job_stream stream);

#endif

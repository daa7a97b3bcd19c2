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
 * They never block, but for those with cx, which read what only the store has by
 * volt_block_in_place() on behalf of the poll that cx is of (NULL: the caller is no
 * worker): then also -EBADMSG, the store is damaged, or another errno of reading it. */
/* 0; -ENOENT: no such job or not the asker's (the same answer for both). */
int query_get(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
              struct job_view *ret);
/* The same of every job that is kept. */
int query_look(struct volt_cx *cx, struct core *core, const struct asker *asker,
               uint64_t id, int64_t index, struct job_view *ret);
/* Many such looks, best in the order of the keys: elements of an array that only the
 * store has are read a page at a time. */
struct history;
struct query_looks {
    struct core *core; /* filled in by the caller, with the next four */
    struct asker asker;
    bool kept;            /* also what only the store has; otherwise as query_get() */
    bool end_is_enough;   /* but not for those of which memory knows how they ended */
    bool status_only;     /* of what is in memory no spec, nor what it waits for */
    size_t most;          /* how many may be read from it at a time; 0: -EAGAIN for one
                           * that is to be read */
    size_t read;          /* from it by the latest look: jobs or elements */
    struct history *page; /* private, with the rest: the latest of one array */
    uint64_t id;
    int64_t index;
};
#define QUERY_LOOKS_PAGE 32768 /* bytes that it takes, roughly */
int query_looks_next(struct volt_cx *cx, struct query_looks *l, const struct job_key *key,
                     struct job_view *ret);
void query_looks_fini(struct query_looks *l); /* zeroes allowed */

/* --- events and filters ------------------------------------------------------------- */
/* The same of the job that an event is about, whose state and result now are not looked
 * at. 1, 0; -ENOENT: memory has no such job. *ret_bytes: of its spec, unpacked for it. */
int query_wants(struct core *core, const struct asker *asker, const struct job_key *key,
                const struct job_filter *f, size_t *ret_bytes);
/* What events say of the spec of their job, without its environment, resource limits and
 * input: returns a reference of the caller's own in *ret. 0; -EAGAIN: the job is on its
 * way into the table, and the log notifies its subscribers when it is there; -ENOENT: it
 * is not in memory. The owner is not looked at. *ret_bytes: unpacked for it. */
int query_brief_spec(struct core *core, uint64_t id, struct job_spec **ret,
                     size_t *ret_bytes);
/* A walk calls fn for up to limit jobs after `cursor` (0: from the start) in id order (or
 * newest first), of all that are kept, a portion each time: others run in between. The
 * cursor is where to go on: an id, or with keys how many of them have been looked at; 0
 * at the end. It stops when fn returns non-zero and returns that; it may stop before
 * limit when few of many match, and ends where jobs are beyond since_usec, or until_usec,
 * in the order asked for. fn runs without the lock. With elements of arrays (expand.h)
 * the place within an array is a part of the cursor. */
#define QUERY_KEPT_COST  8  /* entries that a job of the store counts as */
#define QUERY_ROWS_LOOKS 24 /* with elements: a portion looks at so many at least */
enum query_specs {
    QUERY_SPECS_BRIEF, /* some may be without environment, resource limits and input */
    QUERY_SPECS_WHOLE,
    QUERY_SPECS_NONE, /* some may be missing */
};
struct query_walk {
    bool kept;              /* also what only the store has */
    bool keys;              /* newest first: also jobs of which the key alone is left */
    enum query_specs specs; /* that fn needs */
    bool shows;             /* fn tells them: each counts, unpacked or not */
    uint64_t cursor;        /* where to begin; afterwards where to go on: 0 is the end */
    size_t limit;           /* jobs that fn may yet be called for */
    size_t looks;           /* how many a portion may look at, at least 1 */
    size_t at_once;         /* how many of these it may tell, at least 1 */
    size_t bytes;       /* of specs that it may unpack, and one spec more, at least 1 */
    size_t looked;      /* of the latest portion */
    size_t unpacked;    /* of it: bytes of specs */
    size_t kept_looked; /* of it, in the store: a page */
    bool end;           /* the cursor is 0, or enough for one answer has been told */
    bool within; /* in an array, the last one that the cursor has passed: with elements */
    int64_t index;     /* then: of its element that was looked at last */
    uint64_t kept_sum; /* of the answer: looked at in the store */
    unsigned strays;   /* private */
};
int query_walk_step(struct volt_cx *cx, struct core *core, const struct asker *asker,
                    const struct job_filter *f, struct query_walk *w,
                    int (*fn)(void *arg, const struct job_view *v), void *arg);

/* --- events as they happen ---------------------------------------------------------- */
/* Sequence number of the newest event. */
uint64_t query_event_seq(const struct core *core);
/* Copies the asker's events with seq > after, up to max. Returns their number, less than
 * max only at the newest event; *ret_next: the seq read up to; *ret_lost: how many were
 * overwritten before they could be read. */
size_t query_events_read(struct core *core, const struct asker *asker, uint64_t after,
                         struct job_news *buf, size_t max, uint64_t *ret_next,
                         uint64_t *ret_lost);
/* To wait for news: volt_notified_init on this, then read, then poll. */
struct volt_notify *query_events_notify(struct core *core);

/* --- the log: durable events -------------------------------------------------------- */
/* Its numbers are the store's: they go on over a restart, and so do its readers. A
 * start may become durable, and be in the log, with what follows it, unless somebody
 * watches. */
struct event_log *query_log(struct core *core);
/* Somebody watches, until _end. Returns the number behind which a reader goes on that
 * looks at the jobs now: what the log has up to there counts already. What counts and
 * stands behind it is read twice. */
uint64_t query_log_begin(struct core *core);
void query_log_end(struct core *core);
/* The log may have events of jobs whose submission is still on its way into the table;
 * its subscribers are notified when they are there. */
bool query_log_ahead(struct core *core);

/* --- counters, output --------------------------------------------------------------- */
void query_counts(struct core *core, struct core_counts *ret);
/* Whether what is acknowledged survives a crash of the daemon: the store's word. */
bool query_durable(const struct core *core);

/* Opens a job's output read-only after the owner check. Returns a new fd; -ENOENT no such
 * job; -EISDIR an array, whose elements have output; -ENODATA the job has no output file
 * (not started, null, path); -EIDRM its output has gone with it, and its end
 * alone is known; -ESTALE it had a file, which somebody has removed or
 * replaced; -EBADMSG the store is damaged. */
int query_open_output(struct volt_cx *cx, struct core *core, const struct asker *asker,
                      uint64_t id, int64_t index, enum job_stream stream);
/* Where the file of a job's output is, or was. Returns new; NULL: out of memory. */
char *query_output_path(struct core *core, const struct job_key *key,
                        enum job_stream stream);

#endif

/* The manager: the live jobs of this daemon, their queue, their events.
 *
 * One lock (short critical sections, never held across I/O, a wake or a poll) guards the
 * table of jobs, the queue and the event ring. Each job that is not done has one libvolt
 * task (work.c); of an array only the elements that have started. Readers of
 * events read the ring by sequence number and wait on its notify: no list of subscribers,
 * nothing per watcher for the writer. */
#ifndef VOLTD_EXEC_MANAGER_H
#define VOLTD_EXEC_MANAGER_H

#include "daemon/job/job.h"
#include "daemon/job/news.h"
#include "daemon/store/commit_log.h"
#include "daemon/job/key.h"
#include "daemon/job/spec.h"
#include <string.h>
#include <sys/types.h>
#include <volt/volt.h>

struct audience;
struct manager;
struct config;

/* A peer, from SO_PEERCRED at accept. */
struct job_owner {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* A snapshot of one job, one array (index -1, counts filled) or one element. */
struct job_view {
    struct job_key key; /* with the current attempt */
    struct job_owner owner;
    struct job_spec *spec; /* a reference of the view's own; NULL: orphan */
    struct job_status status;
    uint32_t survivors;     /* known of it, or JOB_SURVIVORS_UNKNOWN; */
    struct job_named named; /* the first of them */
    enum job_wait wait;
    uint64_t wait_position; /* jobs in front of it in its queue */
    bool durable;
    bool orphan;    /* only a record is known */
    bool forgotten; /* only how it ended is known */
    bool has_counts;
    uint64_t total, queued, running, done, failed; /* arrays as a whole */
    int exit_code;                                 /* when done; arrays: the largest */
    size_t unpacked; /* bytes of the spec, if it was unpacked for the view */
};
void job_view_fini(struct job_view *v);

/* --- submit: leaf future; READY after the store has committed ----------------------- */
struct manager_submit_item {
    struct job_spec *spec; /* borrowed; the manager takes its own reference */
    uint64_t ret_id;       /* 0: rejected */
    bool ret_existed;      /* the job of an earlier submission with this key */
    /* 0; -EEXIST: the key is that of another job; -EDQUOT: a limit reached; -ENOSPC,
     * -EIO: the store's disk is full or fails;
     * -ESHUTDOWN: closing; -ENOMEM; others: refused. */
    int ret_error;
    char *ret_text; /* why, new; NULL: strerror() of it says all */
};
static inline const char *manager_submit_reason(const struct manager_submit_item *item)
{
    return item->ret_text ? item->ret_text : strerror(-item->ret_error);
}
struct manager_submit {
    struct manager *manager;
    struct job_owner owner;
    struct manager_submit_item *items; /* borrowed until _fini */
    size_t count;
    bool atomic; /* all or none */
    /* Set before each poll: items that it may look at, and facts that it may append for
     * what is replaced, and up to two more; 0: 500 and 64. */
    size_t looks, most_facts;
    size_t looked, facts; /* by the latest poll */
    bool ret_durable;
    void *pending; /* private */
    int at;        /* private */
};
void manager_submit_init(struct manager_submit *s, struct manager *m,
                         const struct job_owner *owner, struct manager_submit_item *items,
                         size_t count, bool atomic);
enum volt_poll manager_submit_poll(struct volt_cx *cx, struct manager_submit *s);
void manager_submit_fini(struct manager_submit *s);

/* --- queries ------------------------------------------------------------------------
 * They never block, but for those with cx, which read what only the store has by
 * volt_block_in_place() on behalf of the poll that cx is of (NULL: the caller is no
 * worker): then also -EBADMSG, the store is damaged, or another errno of reading it. */
/* 0; -ENOENT: no such job or not the asker's (the same answer for both). */
int manager_get(struct manager *m, const struct job_owner *asker, uint64_t id,
                int64_t index, struct job_view *ret);
/* The same of every job that is kept. */
int manager_look(struct volt_cx *cx, struct manager *m, const struct job_owner *asker,
                 uint64_t id, int64_t index, struct job_view *ret);
/* Many such looks, best in the order of the keys: elements of an array that only the
 * store has are read a page at a time. */
struct history;
struct manager_looks {
    struct manager *manager; /* filled in by the caller, with the next four */
    struct job_owner asker;
    bool kept;            /* also what only the store has; otherwise as manager_get() */
    bool end_is_enough;   /* but not for those of which memory knows how they ended */
    size_t most;          /* how many may be read from it at a time; 0: -EAGAIN for one
                           * that is to be read */
    size_t read;          /* from it by the latest look: jobs or elements */
    struct history *page; /* private, with the rest: the latest of one array */
    uint64_t id;
    int64_t index;
};
#define MANAGER_LOOKS_PAGE 32768 /* bytes that it takes, roughly */
int manager_looks_next(struct volt_cx *cx, struct manager_looks *l,
                       const struct job_key *key, struct job_view *ret);
void manager_looks_fini(struct manager_looks *l); /* zeroes allowed */

struct manager_filter {
    uint32_t states;  /* bit per enum job_state; 0: all */
    uint32_t results; /* bit per enum job_result; 0: all */
    bool of_user;     /* only those of uid */
    uid_t uid;
    const char *name;      /* exact; NULL: any */
    const char *name_glob; /* fnmatch(3); NULL: any */
    const char *queue;
    const struct job_label *labels; /* all must match; a value that is NULL: any */
    size_t nlabels;
    const struct job_key *keys; /* any of these (none of none), in the order of
                                 * job_key_compare(); NULL: any */
    size_t nkeys;
    uint64_t since_usec, until_usec; /* of submission, both included; 0: any */
    bool orphans;                    /* only records without a job */
    bool elements; /* of arrays their elements instead: states and results are of these */
    bool newest_first;
};
/* Whether the filter wants this job; its keys are not looked at. */
bool manager_matches(const struct job_view *v, const struct manager_filter *f);
/* The same of its states and results alone. */
bool manager_status_wanted(const struct job_status *st, const struct manager_filter *f);
/* The same of the job that an event is about, whose state and result now are not looked
 * at. 1, 0; -ENOENT: memory has no such job. *ret_bytes: of its spec, unpacked for it. */
int manager_wants(struct manager *m, const struct job_owner *asker,
                  const struct job_key *key, const struct manager_filter *f,
                  size_t *ret_bytes);
/* What events say of the spec of their job, without its environment, resource limits and
 * input: returns a reference of the caller's own in *ret. 0; -EAGAIN: the job is on its
 * way into the table, and the audience of the log hears when it is there; -ENOENT: it is
 * not in memory. The owner is not looked at. *ret_bytes: unpacked for it. */
int manager_brief_spec(struct manager *m, uint64_t id, struct job_spec **ret,
                       size_t *ret_bytes);
/* A walk calls fn for up to limit jobs after `cursor` (0: from the start) in id order (or
 * newest first), of all that are kept, a portion each time: others run in between. The
 * cursor is where to go on: an id, or with keys how many of them have been looked at; 0
 * at the end. It stops when fn returns non-zero and returns that; it may stop before
 * limit when few of many match, and ends where jobs are beyond since_usec, or until_usec,
 * in the order asked for. fn runs without the lock. With elements of arrays (expand.h)
 * the place within an array is a part of the cursor. */
#define MANAGER_WALK_LOOKS 500
#define MANAGER_WALK_BYTES 65536
#define MANAGER_KEPT_COST  8 /* entries that a job of the store counts as */
#define MANAGER_ROWS_LOOKS 24 /* with elements: a portion looks at so many at least */
enum manager_specs {
    MANAGER_SPECS_BRIEF, /* some may be without environment, resource limits and input */
    MANAGER_SPECS_WHOLE,
    MANAGER_SPECS_NONE, /* some may be missing */
};
struct manager_walk {
    bool kept;                /* also what only the store has */
    enum manager_specs specs; /* that fn needs */
    bool shows;               /* fn tells them: each counts, unpacked or not */
    uint64_t cursor;    /* where to begin; afterwards where to go on: 0 is the end */
    size_t limit;       /* jobs that fn may yet be called for */
    size_t looks;       /* how many a portion may look at, at least 1 */
    size_t at_once;     /* how many of these it may tell, at least 1 */
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
int manager_walk_step(struct volt_cx *cx, struct manager *m,
                      const struct job_owner *asker, const struct manager_filter *f,
                      struct manager_walk *w,
                      int (*fn)(void *arg, const struct job_view *v), void *arg);

/* --- steering ----------------------------------------------------------------------- */
/* 0: asked; -ENOENT; -EALREADY: has ended; -ENOMEM: it is not, or some elements are not.
 * index -1: the whole job or array. */
int manager_cancel(struct manager *m, const struct job_owner *asker, uint64_t id,
                   int64_t index);
/* The same in portions: -EAGAIN while elements of an array are left. The array itself is
 * asked by the first call. */
struct manager_cancel_at { /* zero-initialised before the first */
    size_t most_facts;     /* of a portion, and up to two more; 0: 64 */
    size_t looks;          /* elements that a portion may look at; 0: 500 */
    size_t looked, facts;  /* of the latest portion */
    bool begun;            /* private, with the next */
    int64_t offset;
};
int manager_cancel_step(struct manager *m, const struct job_owner *asker, uint64_t id,
                        int64_t index, struct manager_cancel_at *at);
/* Forgets ended jobs of the asker that match, ended longer ago than older_usec, and are
 * not among the newest `keep` of those that match: leaf future, READY when the store has
 * let them go. */
struct manager_forget {
    struct manager *manager; /* filled in by the caller, with the next four */
    struct job_owner asker;
    const struct manager_filter *filter; /* borrowed, with what it borrows, until _fini */
    uint64_t older_usec;
    uint64_t keep;
    size_t looks;         /* how many a poll may look at; 0: MANAGER_WALK_LOOKS */
    size_t looked, bytes; /* of the latest poll: entries, bytes of specs ... */
    size_t facts;         /* ... and facts appended */
    uint64_t ret_count;
    int ret;       /* 0; -EBADMSG: damaged store; -errno: some may have gone */
    void *pending; /* private */
    int at;        /* private */
};
enum volt_poll manager_forget_poll(struct volt_cx *cx, struct manager_forget *f);
void manager_forget_fini(struct manager_forget *f);
/* Leaf: READY when everything that has happened so far is in the store. Zero-initialised
 * it may be finished. */
struct manager_barrier {
    struct store_commit commit; /* private */
};
void manager_barrier_init(struct manager_barrier *b, struct manager *m);
enum volt_poll manager_barrier_poll(struct volt_cx *cx, struct manager_barrier *b);
void manager_barrier_fini(struct manager_barrier *b);
/* Cancels every job of the asker that matches: leaf future. A portion a poll. */
#define MANAGER_CANCEL_FACTS 64
#define MANAGER_CANCEL_SLICE 22 /* jobs: a cancel is up to three facts */
struct manager_cancel_all {
    struct manager *manager; /* filled in by the caller, with the next three */
    struct job_owner asker;
    const struct manager_filter *filter; /* borrowed, with what it borrows, until READY */
    /* Waits every now and then until the store has what happened, while it can write at
     * all: so the ends of many jobs do not come together in memory. */
    bool paced;
    size_t most_facts; /* of a poll, and up to two more; 0: 64 */
    size_t looks;      /* as in struct manager_forget, with the next three */
    size_t looked, bytes;
    size_t facts;
    int64_t ret_count;
    int ret;                 /* 0 or -ENOMEM: then some may be left */
    uint64_t cursor, slices; /* private, with the rest */
    bool listed;             /* all of them */
    bool pacing;
    size_t narrays;
    uint64_t arrays[MANAGER_CANCEL_SLICE]; /* with elements that are left */
    struct manager_cancel_at at;           /* in the last of these */
    struct manager_barrier pace;
};
enum volt_poll manager_cancel_all_poll(struct volt_cx *cx, struct manager_cancel_all *c);
void manager_cancel_all_fini(struct manager_cancel_all *c);
/* Sends a signal to a running job, through the keeper: leaf future. ret: 0, -ENOENT,
 * -ESRCH (not running), -EISDIR (an array, whose elements run), -EOPNOTSUPP (not a
 * process), or the keeper's errno. */
struct manager_signal {
    struct manager *manager; /* filled in by the caller, with the next five */
    struct job_owner asker;
    uint64_t id;
    int64_t index;
    int signal;
    bool tree;
    int ret;
    void *pending; /* private */
    int at;        /* private */
};
enum volt_poll manager_signal_poll(struct volt_cx *cx, struct manager_signal *s);
void manager_signal_fini(struct manager_signal *s);

/* --- events as they happen ---------------------------------------------------------- */
/* Sequence number of the newest event. */
uint64_t manager_event_seq(const struct manager *m);
/* Copies the asker's events with seq > after, up to max. Returns their number; *ret_next:
 * the seq read up to; *ret_lost: how many were overwritten before they could be read. */
size_t manager_events_read(struct manager *m, const struct job_owner *asker,
                           uint64_t after, struct job_news *buf, size_t max,
                           uint64_t *ret_next, uint64_t *ret_lost);
/* To wait for news: volt_notified_init on this, then read, then poll. */
struct volt_notify *manager_events_notify(struct manager *m);

/* --- the log: events that are kept -------------------------------------------------- */
/* Its numbers are the store's: they go on over a restart, and so do its readers. A
 * start may be kept, and told, with what follows it, unless somebody watches. */
void manager_log_begin(struct manager *m); /* somebody watches, until _end */
void manager_log_end(struct manager *m);
/* The newest number, and the one before the first of all. */
uint64_t manager_log_seq(struct manager *m);
uint64_t manager_log_first(struct manager *m);
/* As manager_events_read(), but looks at no more than so many: those of others count. */
size_t manager_log_read(struct manager *m, const struct job_owner *asker, uint64_t after,
                        struct job_news *buf, size_t max, size_t looks,
                        uint64_t *ret_next, uint64_t *ret_lost);
/* To wait for more of it (audience.h). */
struct audience *manager_log_audience(struct manager *m);
/* The log may tell of jobs whose submission is still on its way into the table; its
 * audience hears when they are there. */
bool manager_log_ahead(struct manager *m);

/* --- counters ----------------------------------------------------------------------- */
/* Work done while the lock is held once. Others wait for it. */
struct manager_held {
    uint64_t entries; /* jobs, elements, events looked at */
    uint64_t bytes;   /* of the specs that are unpacked for it */
    uint64_t facts;   /* appended to the store */
};
struct manager_counts {
    uint64_t submitted, ended;            /* jobs; elements of arrays counted */
    uint64_t by_state[JOB_STATE_COUNT];   /* now */
    uint64_t by_result[JOB_RESULT_COUNT]; /* ever */
    uint64_t orphans;
    /* At the start, of the jobs in the store that had not ended: queued; running; ended
     * while nobody looked; with an end that cannot be known; said to start, and never
     * started. */
    uint64_t recovered_queued, recovered_running, recovered_ended, recovered_lost,
        recovered_unstarted;
    uint32_t slots, slots_used; /* of the default queue */
    struct manager_held held;   /* the largest of each */
    uint64_t told; /* the most waits that were looked at in one poll, to tell of events */
    uint64_t read_rows, read_bytes; /* the most of the store before others could read */
};
void manager_counts(struct manager *m, struct manager_counts *ret);
/* Whether what is acknowledged survives a crash of the daemon: the store's word. */
bool manager_durable(const struct manager *m);

/* --- output ------------------------------------------------------------------------- */
/* Opens a job's output read-only after the owner check. Returns a new fd; -ENOENT no such
 * job; -EISDIR an array, whose elements have output; -ENODATA the job has no output file
 * (not started, null, path); -ESTALE it had a file, which somebody has removed or
 * replaced; -EBADMSG the store is damaged. */
int manager_open_output(struct volt_cx *cx, struct manager *m,
                        const struct job_owner *asker, uint64_t id, int64_t index,
                        enum job_stream stream);
/* Where the file of a job's output is, or was. Returns new; NULL: out of memory. */
char *manager_output_path(struct manager *m, const struct job_key *key,
                          enum job_stream stream);

/* --- life --------------------------------------------------------------------------- */
struct manager_options {
    struct volt_runtime *rt;
    const struct config *config;                      /* borrowed until the next reload */
    const char *runtime_dir, *state_dir, *record_dir; /* borrowed */
    const char *keeper_path;                          /* program; borrowed */
    uint64_t descriptors; /* soft RLIMIT_NOFILE of jobs; 0: voltd's own */
    const char *address;  /* VOLT_ADDRESS for jobs, "unix:/..."; borrowed */
};
/* Scans records, connects or starts the keeper, starts the queue. Where it fails the
 * runtime may have been shut down. */
int manager_new(const struct manager_options *o, struct manager **ret,
                struct volt_error *err);
int manager_reload(struct manager *m, const struct config *config);
/* No new submissions (they answer -ESHUTDOWN) and no new starts. */
void manager_close(struct manager *m);
/* Leaf: READY when no job is starting or, if cancel is set, when all have ended. */
struct manager_drain {
    struct manager *manager;
    bool cancel;
    struct manager_cancel_all all; /* private, with the rest */
    struct volt_sleep rest;
    struct volt_notified news;
    int at;
};
enum volt_poll manager_drain_poll(struct volt_cx *cx, struct manager_drain *d);
void manager_drain_fini(struct manager_drain *d);
void manager_free(struct manager *m); /* after the runtime has shut down */

#endif

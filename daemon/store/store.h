/* The store: facts about jobs, kept in the order in which they were appended.
 *
 * A backend is a table of functions. What it keeps are events: the state of a job is
 * their fold (job_update), and nothing else is stored. The protocol of a commit:
 *
 *   1. append copies the facts into the group that is being filled. It never blocks and
 *      wakes nobody, so it may be called under a lock; facts are kept in this order.
 *   2. kick lets an idle writer begin. Polling a commit kicks too.
 *   3. The writer takes the whole group and makes it kept by one commit of its own; what
 *      is appended meanwhile is the next group: the busier, the larger the groups.
 *   4. Every commit of that group becomes READY. Acknowledgements are
 *      sent after that and never before.
 *
 * An append without facts is a barrier: READY when all that was appended before is kept.
 *
 * News: every kept fact has a number, given at its commit, in order of append and kept
 * with it. A subscriber is told the facts of each commit between 3 and 4. After a
 * restart the load tells the same numbers again, and new ones follow: a reader that was
 * told up to a number has missed nothing before it, whatever happened to the daemon.
 *
 * When the disk is full, submissions are refused (-ENOSPC) and everything else waits
 * until it is kept. When the disk lies (a failed fsync), submissions are refused (-EIO)
 * and everything else waits until a full copy of the store has been made. The same when
 * anything else keeps the store from being written, until it does not: no submission
 * is left to wait for that. (Where a commit has failed and the process dies before the
 * copy, a submission that was refused so may be found kept.)
 *
 * `durable` says whether a committed fact survives the process; submitters are told. */
#ifndef VOLTD_STORE_STORE_H
#define VOLTD_STORE_STORE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include <volt/task.h>
#include "base/list.h"
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/news.h"
#include "daemon/job/spec.h"

#define STORE_ID_SIZE 16 /* boot id, generation of the record directory */

/* A store that is not the one it was (witness.h); a person has to choose. Never an errno
 * of a file. */
#define STORE_NOT_WITNESSED EREMCHG

struct store;

#define STORE_STREAMS 2 /* standard output, standard error */

/* Bytes that a job has printed. */
struct store_piece {
    const void *bytes;
    size_t n; /* 0: none */
};

/* What only a load says of a fact. */
struct store_loaded {
    uint64_t seq;        /* the number of its news; 0: told by an earlier version */
    uint64_t ended_usec; /* SUBMIT with last */
    uint64_t end_seq;    /* SUBMIT of an array with last: of the news of its end */
};

/* One event of one job. All pointers are borrowed for the call. Array elements have no
 * SUBMIT of their own; CANCEL of an array as a whole ends what of it has not started.
 * Large batches have many: see store_append_filled(). */
struct store_fact {
    struct job_key key;            /* attempt is not kept: STARTING says it */
    const struct job_event *event; /* often one for the whole batch; NULL: only `last` */
    struct job_spec *spec;         /* SUBMIT only */
    uid_t uid;           /* the owner; kept with SUBMIT, otherwise for the news */
    gid_t gid;           /* SUBMIT only */
    uint64_t ended_usec; /* with last and no event */
    const struct store_piece *output;  /* EXITED only: STORE_STREAMS of them, or NULL */
    const struct store_loaded *loaded; /* load only */
    int32_t code; /* for the news, with the next two: what the job is after it; */
    uint8_t state, result; /* `last` without an event is told as EXITED */
    bool last;             /* nothing more will come of this job: it is history */
    bool news_only;        /* not kept, only numbered and told */
    bool forget; /* nothing happened: all of this ended job goes, and is not told of */
};

/* What the news of a fact are, but for the number. */
static inline struct job_news store_news_of(const struct store_fact *f)
{
    const struct job_event *ev = f->event;

    return (struct job_news){.at_usec = ev ? ev->at_usec : f->ended_usec,
                             .key = f->key,
                             .type = (uint8_t)(ev ? ev->type : JOB_EV_EXITED),
                             .state = f->state,
                             .result = f->result,
                             .code = f->code,
                             .owner = f->uid};
}

/* Takes news that are kept, in order of their numbers. n 0: all of a commit have been
 * told, watchers may be woken. A backend that keeps at once calls it within append, and
 * with n 0 when it is kicked. */
typedef void store_news_fn(void *arg, const struct job_news *news, size_t n);

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

/* Brings the next facts, up to max; 0: there are no more. What they point to stays until
 * it is called again. */
typedef size_t store_fill_fn(void *arg, struct store_fact *facts, size_t max);

typedef int store_load_fn(void *arg, const struct store_fact *fact);

/* How the writer is, for people. */
struct store_health {
    bool full, failing;   /* submissions are refused */
    uint64_t groups;      /* commits of the backend's own, ever */
    uint64_t facts;       /* kept by these */
    uint64_t commit_usec; /* of the latest group */
};

/* What is kept of jobs that have ended: whatever is beyond one of the two goes, oldest
 * first, when the writer has nothing better to do. */
struct store_retention {
    uint64_t jobs; /* their number */
    uint64_t usec; /* since their end */
    /* Called on the writer's thread when a job of kind exec has gone, all of it; NULL:
     * not. */
    void (*gone)(void *arg, uint64_t id);
    void *gone_arg;
};

/* Jobs that have ended, to be read again. */
struct store_range {
    uint64_t first, last; /* ids, both included */
    bool newest_first;
    size_t max; /* jobs at a time, at most STORE_RANGE_MAX */
    bool one_item;
    int64_t
        item; /* with one_item: of arrays, only events of this element, and their own */
};

#define STORE_RANGE_MAX 64
#define STORE_FILL_MAX  64 /* facts that a backend asks for at once */

struct store_backend {
    const char *name;
    bool durable;
    /* facts, then what fill (NULL: nothing) brings */
    int (*append)(struct store *s, const struct store_fact *facts, size_t n,
                  store_fill_fn *fill, void *arg, struct store_commit *commit);
    void (*kick)(struct store *s, bool patient);
    enum volt_poll (*commit_poll)(struct volt_cx *cx, struct store_commit *c);
    void (*commit_fini)(struct store_commit *c);
    int (*load)(struct store *s, store_load_fn *fn, void *arg, struct volt_error *err);
    void (*subscribe)(struct store *s, store_news_fn *fn, void *arg);
    void (*numbers)(struct store *s, uint64_t *ret_first, uint64_t *ret_last);
    uint64_t (*last_id)(struct store *s);
    void (*health)(struct store *s, struct store_health *ret);
    void (*retain)(struct store *s, const struct store_retention *retention);
    int (*witness)(struct store *s, bool lasting); /* NULL: it has none */
    /* Both NULL: output is not kept. */
    int (*output)(struct store *s, const struct job_key *key, unsigned stream, void **ret,
                  size_t *ret_n);
    int (*has)(struct store *s, uint64_t id);
    int (*history)(struct store *s, const struct store_range *range, store_load_fn *fn,
                   void *arg, uint64_t *ret_at, struct volt_error *err);
    void (*free)(struct store *s);
};

/* The head of every backend's own struct. */
struct store {
    const struct store_backend *backend;
};

/* Appends n facts that become kept together or not at all; sets commit up, NULL: nobody
 * waits. 0; -ENOSPC, -EIO (submissions only), -ENOMEM: nothing was appended. Never
 * blocks. Any thread. */
static inline int store_append(struct store *s, const struct store_fact *facts, size_t n,
                               struct store_commit *commit)
{
    if (commit)
        *commit = (struct store_commit){.store = s};
    return s->backend->append(s, facts, n, NULL, NULL, commit);
}

/* The same of so many that they are not to be in memory at once. */
static inline int store_append_filled(struct store *s, store_fill_fn *fill, void *arg,
                                      struct store_commit *commit)
{
    *commit = (struct store_commit){.store = s};
    return s->backend->append(s, NULL, 0, fill, arg, commit);
}

/* patient: the writer may wait a little for more. Any thread; not under a lock. */
static inline void store_kick(struct store *s, bool patient)
{
    s->backend->kick(s, patient);
}

/* READY: kept, or failed: see commit->status (0 or -errno). Another task than before may
 * poll it once the earlier one has stopped to. */
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

/* Calls fn for every kept fact, job by job in order of their ids, in order of append for
 * each, until it returns non-zero, which is returned. A fact's spec may be kept by
 * job_spec_ref(). -EBADMSG: the store is damaged, err says where. At start, once, before
 * the first append. Blocks. */
static inline int store_load(struct store *s, store_load_fn *fn, void *arg,
                             struct volt_error *err)
{
    return s->backend->load(s, fn, arg, err);
}

/* One subscriber; before the load. */
static inline void store_subscribe(struct store *s, store_news_fn *fn, void *arg)
{
    s->backend->subscribe(s, fn, arg);
}

/* Numbers of news that this store can have given are greater than first and at most last.
 * Before the load. */
static inline void store_numbers(struct store *s, uint64_t *ret_first, uint64_t *ret_last)
{
    s->backend->numbers(s, ret_first, ret_last);
}

/* The highest id that a job of this store ever had, also of those it has forgotten; 0:
 * none that it knows of. As the load has found it. */
static inline uint64_t store_last_id(struct store *s)
{
    return s->backend->last_id(s);
}

static inline bool store_durable(const struct store *s)
{
    return s->backend->durable;
}

static inline void store_health(struct store *s, struct store_health *ret)
{
    s->backend->health(s, ret);
}

/* From now on; any thread. */
static inline void store_retain(struct store *s, const struct store_retention *retention)
{
    s->backend->retain(s, retention);
}

/* Writes down beside the store how far it has come, so that an older one in its place is
 * refused (witness.h); from the first call on, store_free() does so too. lasting: the
 * name of the file is on disk, too; otherwise when somebody syncs the state directory. 0
 * or -errno, which has been told: the witness is an older one, as true. Blocks on the
 * disk; any thread, after the load. */
static inline int store_witness(struct store *s, bool lasting)
{
    return s->backend->witness ? s->backend->witness(s, lasting) : 0;
}

/* Whether facts may bring output. */
static inline bool store_keeps_output(const struct store *s)
{
    return s->backend->output != NULL;
}

/* What a job has printed, as its end brought it: *ret is new, to be freed with free().
 * 0; -ENODATA: nothing; -EBADMSG: damaged; -errno. Reads the disk; any thread. */
static inline int store_output(struct store *s, const struct job_key *key,
                               unsigned stream, void **ret, size_t *ret_n)
{
    return s->backend->output ? s->backend->output(s, key, stream, ret, ret_n) : -ENODATA;
}

/* Whether a job is kept, ended or not: 1, 0, -errno. As store_output(). */
static inline int store_has(struct store *s, uint64_t id)
{
    return s->backend->has ? s->backend->has(s, id) : 0;
}

/* Calls fn for every fact of ended jobs in the range, as store_load() does. Returns how
 * many jobs were read, 0: none is left; *ret_at: the last one's id, to go on from.
 * -ESTALE: the latest one was forgotten while it was read: leave it out and go on;
 * -EBADMSG: damaged, with the place in err; another errno of reading; what fn returned.
 * Blocks on the disk, so not on a worker; any thread. Holds up no writer: no transaction
 * lasts longer than some thousand rows. */
static inline int store_history(struct store *s, const struct store_range *range,
                                store_load_fn *fn, void *arg, uint64_t *ret_at,
                                struct volt_error *err)
{
    return s->backend->history ? s->backend->history(s, range, fn, arg, ret_at, err) : 0;
}

/* Writes what was appended, then closes. No commit may be pending. NULL is allowed. */
static inline void store_free(struct store *s)
{
    if (s)
        s->backend->free(s);
}

/* Keeps nothing beyond the process: a restart knows no job. Returns new;
 * NULL: no memory. */
struct store *store_memory_new(void);

#endif

/* What is asked of jobs that exist: cancel, hold, release, pause, resume, edit, signal,
 * forget; of semaphores, and of queues. */
#ifndef VOLTD_STEER_STEER_H
#define VOLTD_STEER_STEER_H

#include <volt/error.h>
#include <volt/volt.h>
#include "daemon/auth/auth.h"
#include "daemon/core/core.h"
#include "daemon/job/queue.h"
#include "daemon/query/job_view.h"
#include "daemon/steer/pausing.h"
#include "daemon/store/commit_log.h"

/* Hold, release and edit are of jobs and of arrays as a whole; what an admin does to the
 * job of another user is the admin's (dispatch/holding.h). */
enum steer_verb {
    STEER_CANCEL = 0,
    STEER_HOLD,
    STEER_RELEASE,
    STEER_PAUSE,
    STEER_RESUME,
    STEER_EDIT,
};
/* One job in portions. -EAGAIN: another one is due. Of a cancel, elements of an array are
 * left, and the array itself was asked by the first call. Of a hold, the job is called
 * back from an early start: after STEER_AGAIN. 0: it is done; -ENOENT; -EALREADY: the job
 * has ended; -ENOMEM: it is not done, or not with some elements. Of hold and release also
 * -ENOTDIR: it is an element; -EBUSY: it has started, or all of the array has; -ESRCH: it
 * is not held; -EPERM: by an admin, and the asker is none; -EDQUOT: it has been held too
 * often; or the errno by which the store refuses it. Edit: as core_edit(), and -ENOTDIR;
 * on -ESTALE steer_look_at_after() comes before another portion. Pause and resume:
 * pausing.h; -EAGAIN: of an array not all has been looked at, or its processes are still
 * to be stopped or continued. */
struct steer_at { /* zero-initialised before the first, but for the verb */
    enum steer_verb verb;
    size_t most_facts;           /* of a portion, and up to two more; 0: 64 */
    size_t looks;                /* elements that a portion may look at; 0: 500 */
    size_t looked, facts;        /* of the latest portion */
    bool rests;                  /* the next portion comes after STEER_AGAIN */
    const struct job_edit *edit; /* EDIT: what; borrowed */
    bool only_checks;            /* EDIT: core_edit_check() */
    struct volt_error err;       /* of -EINVAL */
    bool begun;                  /* private, with the next */
    int64_t offset;
    struct pausing pausing;
};
#define STEER_AGAIN UINT64_C(5000)
int steer_step(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
               struct steer_at *at);
/* What is known of the jobs in `after` of changes, which are named by ids or keys, goes
 * into it, before the first edit by it. Reads the store on behalf of the poll that cx is
 * of. *ret_looked: so many entries were looked at. 0; -EINVAL, with the reason: one of
 * them is no job of this owner, or cannot be read; -ENOMEM. */
int steer_look_at_after(struct volt_cx *cx, struct core *core,
                        const struct job_owner *owner, struct job_spec *changes,
                        size_t *ret_looked, struct volt_error *err);
/* It is given up, maybe between two portions: the dispatcher goes on with a cancel that
 * has begun. */
void steer_leave(struct core *core, const struct asker *asker, uint64_t id,
                 const struct steer_at *at);
/* Forgets ended jobs of the asker that match, ended longer ago than older_usec, and are
 * not among the newest `keep` of those that match: leaf future, READY when the store has
 * let them go. */
struct steer_forget {
    struct core *core; /* filled in by the caller, with the next four */
    struct asker asker;
    const struct job_filter *filter; /* borrowed, with what it borrows, until _fini */
    uint64_t older_usec;
    uint64_t keep;
    size_t looks;         /* how many a poll may look at; 0: CORE_ENTRIES */
    size_t looked, bytes; /* of the latest poll: entries, bytes of specs ... */
    size_t facts;         /* ... and facts appended */
    uint64_t ret_count;
    int ret;       /* 0; -EBADMSG: damaged store; -errno: some may have gone */
    void *pending; /* private */
    int at;        /* private */
};
enum volt_poll steer_forget_poll(struct volt_cx *cx, struct steer_forget *f);
void steer_forget_fini(struct steer_forget *f);
/* Leaf: READY when everything that has happened so far is in the store. Zero-initialised
 * it may be finished. */
struct steer_barrier {
    struct store_commit commit; /* private */
};
void steer_barrier_init(struct steer_barrier *b, struct core *core);
enum volt_poll steer_barrier_poll(struct volt_cx *cx, struct steer_barrier *b);
void steer_barrier_fini(struct steer_barrier *b);
/* Steers every job of the asker that matches and takes it: leaf future. A portion a
 * poll. */
#define STEER_SLICE 22 /* jobs: a cancel is up to three facts */
struct steer_all {
    struct core *core; /* filled in by the caller, with the next four */
    enum steer_verb verb;
    struct asker asker;
    const struct job_filter *filter; /* borrowed, with what it borrows, until READY */
    const struct job_edit *edit;     /* likewise */
    /* Waits every now and then until the store has what happened, while it can write at
     * all: so the ends of many jobs do not come together in memory. */
    bool paced;
    size_t most_facts; /* of a poll, and up to two more; 0: 64 */
    size_t looks;      /* as in struct steer_forget, with the next three */
    size_t looked, bytes;
    size_t facts;
    int64_t ret_count;
    int ret; /* 0; -ENOMEM: then some may be left; -EINVAL: EDIT, of the
                              * job whose id is in ret_id: so are those behind it;
                              * -ESTALE: EDIT: as of steer_step(), then from the start */
    uint64_t ret_id;
    struct volt_error err;   /* of -EINVAL */
    uint64_t cursor, slices; /* private, with the rest */
    bool listed;             /* all of them */
    bool pacing;
    size_t nleft;
    uint64_t left[STEER_SLICE]; /* jobs with which it is not done */
    bool left_any[STEER_SLICE]; /* pausing.any of each */
    struct steer_at at;         /* in the last of these */
    struct volt_sleep rest;     /* before the next portion of that */
    struct steer_barrier pace;
};
enum volt_poll steer_all_poll(struct volt_cx *cx, struct steer_all *c);
/* As steer_leave() for those with which it is not done. */
void steer_all_fini(struct steer_all *c);
/* Sends a signal to a running job, through the keeper: leaf future. ret: 0, -ENOENT,
 * -ESRCH (not running), -EISDIR (an array, whose elements run), -EOPNOTSUPP (not a
 * process), or the keeper's errno. */
struct steer_signal {
    struct core *core; /* filled in by the caller, with the next five */
    struct asker asker;
    uint64_t id;
    int64_t index;
    int signal;
    bool tree;
    int ret;
    void *pending; /* private */
    int at;        /* private */
};
enum volt_poll steer_signal_poll(struct volt_cx *cx, struct steer_signal *s);
void steer_signal_fini(struct steer_signal *s);
/* The asker's job, all of it, is cancelled by the dispatcher, when there is memory. */
void steer_cancel_later(struct core *core, const struct asker *asker, uint64_t id);

/* The asker's semaphore has so many permits from now on; 0: no size is set any longer, or
 * nothing spent of the rate. commit is set up. As claims_resize() and claims_reset()
 * (core/claims.h). */
int steer_resize(struct core *core, const struct asker *asker, const char *name,
                 uint64_t capacity, struct store_commit *commit, bool *ret_made);

/* Changes a queue; that the asker may is the caller's. commit is set up. As
 * queues_change() (core/queues.h). */
int steer_queue(struct core *core, const char *name, struct queue_change *change,
                struct store_commit *commit);

/* What is left of this owner's ended jobs that claim the lock or semaphore has no claims
 * any more, in portions. After a barrier the store knows it of the jobs; of an element it
 * does when its array's last task has gone. Returns whether another portion is due. */
struct steer_free { /* zero-initialised, but for the name */
    const char *name;
    size_t ret_count;     /* jobs and elements so far */
    size_t looked, facts; /* of the latest portion */
    /* Private, with the next: the latest holder that was come by, and its number and the
     * greatest that was looked at. */
    uint64_t id, nr, through;
    int64_t offset;
    bool more;
};
bool steer_free_step(struct core *core, uid_t owner, struct steer_free *f);

#endif

/* Requests about existing jobs: cancel, hold, release, pause, resume, edit, signal,
 * forget; about semaphores and about queues. */
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

/* Hold, release and edit apply to jobs and whole arrays. An admin's hold of another
 * user's job only an admin may release (dispatch/holding.h). */
enum steer_verb {
    STEER_CANCEL = 0,
    STEER_HOLD,
    STEER_RELEASE,
    STEER_PAUSE,
    STEER_RESUME,
    STEER_EDIT,
};
/* Steers one job in portions:
 *   0: done
 *   -EAGAIN: call again, if `rests` after STEER_AGAIN. Cancel: elements are left (the
 *       first call asked the array itself). Hold: an early start is being recalled.
 *       Pause, resume: elements are left, or processes still to be stopped or continued.
 *   -ENOENT; -EALREADY: the job has ended
 *   -ENOMEM: not done, or not for some elements
 *   hold, release: -ENOTDIR: an element; -EBUSY: it, or all of the array, has started;
 *       -ESRCH: not held; -EPERM: held by an admin, and the asker is none; -EDQUOT: held
 *       too often; or the store's errno
 *   edit: errors of core_edit(); -ENOTDIR; on -ESTALE call steer_look_at_after() first
 *   pause, resume: errors of pausing_step() */
struct steer_at { /* zero-initialised before the first portion, except verb */
    enum steer_verb verb;
    struct quota *quota;         /* bounds and is charged with a portion; may be NULL */
    bool rests;                  /* the next portion is due after STEER_AGAIN */
    const struct job_edit *edit; /* EDIT: the changes; borrowed */
    bool only_checks;            /* EDIT: core_edit_check() */
    struct volt_error err;       /* for -EINVAL */
    bool begun;                  /* private, with the next two */
    int64_t offset;
    struct pausing pausing;
};
#define STEER_AGAIN UINT64_C(5000)
int steer_step(struct core *core, const struct asker *asker, uint64_t id, int64_t index,
               struct steer_at *at);
/* Looks up the jobs in `after` of changes, named by ids or keys, before the first edit
 * with them. Reads the store on behalf of the poll of cx. 0; -EINVAL, with the reason: a
 * job has another owner, does not exist, or cannot be read; -ENOMEM. */
int steer_look_at_after(struct volt_cx *cx, struct core *core,
                        const struct job_owner *owner, struct job_spec *changes,
                        struct quota *quota, struct volt_error *err);
/* Gives the request up, maybe between two portions. The dispatcher finishes a cancel that
 * has begun. */
void steer_leave(struct core *core, const struct asker *asker, uint64_t id,
                 const struct steer_at *at);
/* Returns whether the job cannot be purged because elements of another array wait for
 * its elements. */
bool steer_is_followed(struct core *core, uint64_t id);
/* Leaf future that purges the asker's ended jobs that match, ended longer than older_usec
 * ago, except the newest `keep` of the matching ones. READY when the store has removed
 * them. */
struct steer_forget {
    struct core *core; /* set by the caller, with the next four */
    struct asker asker;
    const struct job_filter *filter; /* borrowed, with all it points to, until _fini */
    uint64_t older_usec;
    uint64_t keep;
    struct quota *quota; /* bounds and is charged with a poll; may be NULL */
    uint64_t ret_count;
    int ret;       /* 0; -EBADMSG: damaged store; -errno: some may be purged */
    void *pending; /* private */
    int at;        /* private */
};
enum volt_poll steer_forget_poll(struct volt_cx *cx, struct steer_forget *f);
void steer_forget_fini(struct steer_forget *f);
/* Leaf future: READY when everything that has happened so far is durable. May be finished
 * when zero-initialised. */
struct steer_barrier {
    struct store_commit commit; /* private */
};
void steer_barrier_init(struct steer_barrier *b, struct core *core);
enum volt_poll steer_barrier_poll(struct volt_cx *cx, struct steer_barrier *b);
void steer_barrier_fini(struct steer_barrier *b);
/* Leaf future that steers every matching job of the asker, a portion per poll. */
#define STEER_SLICE ((QUOTA_FACTS + 2) / 3) /* a cancel is up to three facts */
struct steer_all {
    struct core *core; /* set by the caller, with the next four */
    enum steer_verb verb;
    struct asker asker;
    const struct job_filter *filter; /* borrowed, with all it points to, until READY */
    const struct job_edit *edit;     /* likewise */
    /* Pauses now and then until the store has caught up, as long as it can write: so the
     * ends of many jobs do not pile up in memory. */
    bool paced;
    struct quota *quota; /* as in struct steer_forget */
    int64_t ret_count;
    int ret; /* 0, or:
              *   -ENOMEM: some jobs may be left
              *   -EINVAL, EDIT: for job ret_id; later jobs are left
              *   -ESTALE, EDIT: as in steer_step(), then begin anew */
    uint64_t ret_id;
    struct volt_error err;   /* for -EINVAL */
    uint64_t cursor, slices; /* private, with the rest */
    bool listed;             /* all matching jobs were listed */
    bool pacing;
    size_t nleft;
    uint64_t left[STEER_SLICE]; /* jobs that need further portions */
    bool left_any[STEER_SLICE]; /* pausing.any of each */
    struct steer_at at;         /* for the last of these */
    struct volt_sleep rest;     /* before its next portion */
    struct steer_barrier pace;
};
enum volt_poll steer_all_poll(struct volt_cx *cx, struct steer_all *c);
/* Like steer_leave(), for all jobs that need further portions. */
void steer_all_fini(struct steer_all *c);
/* Leaf future that sends a signal to a running job, through the keeper. ret: 0, -ENOENT,
 * -ESRCH (not running), -EISDIR (an array: its elements run), -EOPNOTSUPP (not a
 * process), or the keeper's errno. */
struct steer_signal {
    struct core *core; /* set by the caller, with the next five */
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
/* Makes the dispatcher cancel the whole job of the asker when there is memory. */
void steer_cancel_later(struct core *core, const struct asker *asker, uint64_t id);

/* Sets the permits of the asker's semaphore; 0: removes the set size, or refills the
 * rate. commit is initialised. Returns like claims_resize() and claims_reset()
 * (core/claims.h). */
int steer_resize(struct core *core, const struct asker *asker, const char *name,
                 uint64_t capacity, struct store_commit *commit, bool *ret_made);

/* Changes a queue; the caller has checked that the asker may. commit is initialised.
 * Returns like queues_change() (core/queues.h). */
int steer_queue(struct core *core, const char *name, struct queue_change *change,
                struct store_commit *commit);

/* Frees, in portions, the claims on the lock or semaphore that this owner's ended jobs
 * still have because of processes left. Durable for jobs after a barrier; for elements
 * when the array's last task has ended. Returns whether another portion is due. */
struct steer_free { /* zero-initialised, except name */
    const char *name;
    size_t ret_count; /* jobs and elements so far */
    /* Private, with the next: the holder looked at last, its number, and the greatest
     * number looked at. */
    uint64_t id, nr, through;
    int64_t offset;
    bool more;
};
bool steer_free_step(struct core *core, uid_t owner, struct steer_free *f,
                     struct quota *quota);

#endif

/* Inside the manager: jobs, arrays, works, and the lock they live under.
 *
 * A `struct job` is one record: a job, or an array as a whole. A `struct work` is the
 * state of the libvolt task that carries it: one per job that has begun, and per sleep,
 * noop and array from its submission on; one per element that has started. A job that
 * waits for a slot has none yet: it is a node in its queue, with its spec packed
 * (dormant.h), about 300 bytes. What an array is, and what an event does to it, is in
 * daemon/job/array.h; elements.h has the tasks of its elements.
 *
 * Everything marked [L] is guarded by manager.lock. A section under it is short: a pass
 * over at most JOBS_SLICE jobs. Nothing is woken, freed, logged or called back under it:
 * that is collected in a struct aftermath, which manager_unlock() carries out.
 *
 * Life: submit -> table -> slot, task -> job_update ... DONE -> the task is dropped ->
 * the job is `ended` and kept for questions -> forgotten, oldest first, when more than
 * [Store] KeepEndedJobs are kept: from then on questions go to the store (history.c). */
#ifndef VOLTD_EXEC_JOBS_H
#define VOLTD_EXEC_JOBS_H

#include <pthread.h>
#include "daemon/config/config.h"
#include "daemon/exec/ahead.h"
#include "daemon/exec/audience.h"
#include "daemon/exec/changes.h"
#include "daemon/exec/dormant.h"
#include "daemon/exec/elements.h"
#include "daemon/exec/event_ring.h"
#include "daemon/exec/follow.h"
#include "daemon/exec/ids.h"
#include "daemon/exec/keys.h"
#include "daemon/link/keeper_link.h"
#include "daemon/exec/manager.h"
#include "daemon/output/output.h"
#include "daemon/exec/past.h"
#include "daemon/exec/queue.h"
#include "daemon/link/record_watch.h"
#include "daemon/exec/relay.h"
#include "daemon/exec/sweep.h"
#include "daemon/exec/table.h"
#include "daemon/exec/users.h"
#include "daemon/store/store.h"

#define JOBS_SLICE 64
#define NO_OFFSET  ARRAY_WHOLE /* the job or array itself */

#define SUCCESSIONS_MAX 1024

struct attempt; /* attempt.h: one run of a process */

/* [L] */
struct job {
    uint64_t id;
    struct job_spec *spec;   /* NULL while it is dormant; never of arrays */
    struct dormant *dormant; /* NULL: there is a spec */
    struct queue_node node;  /* waits for slots; once ended, its links are those of
                              * manager.ended */
    struct siphash128 key;   /* name of its idempotency key; zeroes: none */
    struct job_owner owner;
    uint8_t kind;     /* enum job_kind */
    int16_t priority; /* of the spec */
    uint32_t tasks;   /* works that have not been dropped */
    bool durable;
    bool claimed;              /* its key, by a submission */
    bool held;                 /* until the job that it replaces has gone: succession.c */
    bool recovered;            /* of an earlier daemon */
    bool is_history;           /* recovered, and the store knows that it has ended */
    uint32_t bytes;            /* of the spec, for the limit per user: a message has at
                               * most 16 MiB */
    struct work *live;         /* the job's task, or the array's */
    struct array *array;       /* NULL: one job */
    struct elements *elements; /* of the array */
    struct job *next;          /* aftermath */
    struct job_status status;  /* of an array only its submission */
};

struct survivors {
    uint32_t n; /* or JOB_SURVIVORS_UNKNOWN */
    struct job_named named;
};

/* The state of a job's task. job, offset and attempt are the task's own, the rest is [L]
 * but for `leaf` and `at`. */
struct work {
    struct manager *manager;
    struct job *job;
    int64_t offset; /* of the element; NO_OFFSET: the job or array itself */
    int at, step;
    uint8_t keep_tries;
    bool granted;                /* [L] holds a slot */
    bool ahead;                  /* [L] starts, and waits for one (ahead.h) */
    bool deferred;               /* it has waited in vain */
    struct list_node ahead_node; /* [L] */
    uint64_t ahead_until_usec;   /* then it is deferred; 0: it has not waited yet */
    struct relay_place relay;    /* [L] */
    bool adopted;  /* it was starting or running when an earlier daemon ended */
    bool recorded; /* and has a record, which says that it never ran */
    bool kept_starting, kept_started; /* [L] the store has these events */
    bool ending;                      /* [L] its end is on its way into the store */
    bool again;                       /* another attempt follows the one that is lost */
    bool leaf_is_commit;
    uint64_t end_usec;       /* of the EXITED event; also told to the store */
    struct volt_waker waker; /* [L] set while it waits for turn or cancel */
    struct attempt *attempt; /* kind exec, while it runs */
    const struct survivors
        *left;                  /* [L] what SIGKILL has left of it; NULL: nothing, as far
                                     as is known */
    struct output_end *printed; /* of the attempt, once it is over: kept with its end */
    union {
        struct volt_sleep sleep;
        struct store_commit commit;
    } leaf;
};

struct old_key {
    uint64_t name_lo, id; /* id 0: none */
};

/* A job, and the one that follows it. */
struct succession {
    uint64_t prev, next; /* next 0: a submission on its way */
    const void *by;      /* that submission */
};

/* A job that is to be cancelled, as the one whose job takes its place. */
struct replaced {
    uint64_t id;
    struct job_owner by;
};

/* A record without a job, from an earlier life of the daemon. */
struct orphan {
    struct job_key key;
    struct job_status status;
};

struct manager {
    struct volt_runtime *rt;
    struct store *store;
    struct ids ids;
    struct keeper_link *link;   /* NULL: no keeper, no kind exec */
    struct record_watch *watch; /* NULL likewise */
    int state_fd, record_fd;
    struct outputs outputs;  /* its own locks */
    struct changes *changes; /* likewise */
    struct follows *follows; /* likewise */
    struct meters *meters;   /* likewise */
    uint8_t boot_id[RECORD_ID_SIZE];
    char *address;
    struct volt_notify news;

    pthread_mutex_t lock;
    struct config config;   /* [L] */
    struct table table;     /* [L] */
    struct queue queue;     /* [L] */
    struct ahead ahead;     /* [L] */
    struct relay relay;     /* [L] */
    struct event_ring ring; /* [L] as things happen */
    pthread_mutex_t log_lock;
    struct event_ring log; /* under log_lock: what is kept, by the store's numbers */
    struct audience log_audience; /* its own lock */
    uint32_t watchers;            /* of the log; changed with both locks, read with one */
    uint32_t entering; /* [L] submissions that may be kept and are not in the table */
    struct manager_counts counts; /* [L] */
    struct manager_held held;     /* [L] since the lock was taken */
    uint64_t gone;          /* [L] jobs that left the table since memory went back */
    struct users users;     /* [L] */
    struct list ended;      /* [L] by their queue nodes' links; the oldest first */
    struct past past;       /* [L] the ends of forgotten jobs */
    uint64_t forgotten_max; /* [L] the greatest id of these; 0: none */
    struct shares shares;   /* its own lock */
    struct keys keys;       /* [L] but for its secret */
    struct succession *successions; /* [L] */
    size_t nsuccessions;            /* [L] */
    struct replaced *replaced;      /* replayed: may be left to cancel */
    size_t nreplaced;
    struct old_key *old_keys;                /* [L] a ring: keys of forgotten jobs */
    uint64_t old_keys_capacity, old_keys_at; /* [L] */
    uint64_t claimers;     /* [L] submissions that claimed keys so far */
    uint64_t ended_weight; /* [L] an element of an array weighs 1/8 */
    bool up;               /* everything that had been started is known */
    bool closed;           /* [L] */
    bool ending;           /* [L] what is entered is cancelled */
    bool crowded;          /* [L] more ended jobs than are to be kept in memory ... */
    bool leaving;          /* [L] ... and a task lets them go */
    bool news_due;         /* [L] the ring has grown since the last notify */
    bool entered;          /* [L] jobs that the log may tell of are in the table now */
    struct orphan
        *orphans; /* [L] status; the rest never changes; in order of their keys */
    size_t norphans;
    struct sweep sweep;
    char **steps;  /* [L] of replayed ends: strings that live as long as the manager */
    size_t nsteps; /* [L] */
    struct job_named **named; /* [L] of ends with survivors: likewise */
    size_t nnamed;            /* [L] */
    struct work **resumed;    /* between recover_load() and recover_start() */
    size_t nresumed;
};

/* What must happen once the lock is free. Begins as zeroes, or by aftermath_init(). */
struct aftermath {
    bool kick;  /* the store has something to write */
    bool nudge; /* the same, but it may wait for more */
    size_t n;
    struct volt_waker wakers[JOBS_SLICE * 2];
    size_t nspawn;
    struct work *spawn[JOBS_SLICE]; /* they got their slots */
    struct job *garbage;
};

/* For what is done once for each of many jobs: the arrays are large. */
static inline void aftermath_init(struct aftermath *after)
{
    after->kick = after->nudge = false;
    after->n = after->nspawn = 0;
    after->garbage = NULL;
}

#define job_of_node(n) ((struct job *)(void *)((char *)(n)-offsetof(struct job, node)))

void manager_lock(struct manager *m);
/* Lock held. Counts work done under it. */
static inline void manager_did(struct manager *m, uint64_t entries, uint64_t bytes,
                               uint64_t facts)
{
    m->held.entries += entries;
    m->held.bytes += bytes;
    m->held.facts += facts;
}
/* Hands free slots over, then unlocks, wakes, tells and frees. */
void manager_unlock(struct manager *m, struct aftermath *after);

/* Frees the table with its jobs; no task is left. */
void manager_forget_all(struct manager *m);
/* For one more waker and one more task. */
bool aftermath_has_room(const struct aftermath *after);
/* Wakes and frees what was collected. */
void aftermath_finish(struct manager *m, struct aftermath *after);

uint64_t jobs_now_usec(void); /* CLOCK_REALTIME */

/* --- job.c's events applied to what lives here. Lock held. -------------------------- */
/* Applies ev to the job or array (offset NO_OFFSET) or element, keeps the counters and
 * the ring. 0; -EPROTO. There is room for the element's status. */
int jobs_apply(struct manager *m, struct job *job, int64_t offset,
               const struct job_event *ev);
/* Of a job, or of an element that has a status of its own. */
const struct job_status *jobs_status(const struct job *job, int64_t offset);
/* The task of the job, array or element; NULL: it has none. */
struct work *jobs_live(const struct job *job, int64_t offset);
bool jobs_done(const struct job *job);
/* What an event's news say of the result: of a lost attempt before another one, too. */
uint8_t jobs_result_told(enum job_event_type type, const struct job_status *st);
/* Subscriber of the store's news: into the log. */
void jobs_log(void *manager, const struct job_news *news, size_t n);
struct job_key jobs_key(const struct job *job, int64_t offset);
/* Slots bound processes; sleep and noop have none and take none. */
bool jobs_slotted(const struct job *job);
/* Lock held. The task of a job whose turn has come. False: no memory. */
bool jobs_give_task(struct manager *m, struct job *job, struct aftermath *after);
/* Remembers a waiting work to be woken. */
void jobs_wake(struct work *w, struct aftermath *after);
/* Cancels one job or element; elements that have not started included. 0; -EALREADY;
 * -ENOMEM. */
int jobs_cancel_one(struct manager *m, struct job *job, int64_t offset,
                    struct aftermath *after);
/* Appends an event to the store, before it the STARTING and STARTED that it does not have
 * yet; NULL: a barrier. In the order in which they are applied, hence with the lock.
 * last: the job's history ends. c may be NULL. 0 or -errno. */
int jobs_keep(struct manager *m, struct job *job, int64_t offset,
              const struct job_event *ev, bool last, struct store_commit *c,
              struct aftermath *after);
/* The start of a job that is watched, which otherwise is kept with its next event. The
 * watcher kicks. */
void jobs_keep_start(struct manager *m, struct job *job, int64_t offset);
bool jobs_visible(uid_t asker, uid_t owner);
/* The job that uid may see, and the offset of its element `index`; NULL: none. */
struct job *jobs_find(struct manager *m, uid_t uid, uint64_t id, int64_t index,
                      int64_t *ret_offset);

/* --- views (query.c). Lock held. ---------------------------------------------------- */
void jobs_view(struct manager *m, struct job *job, int64_t offset, struct job_view *ret);
/* The same of a job or array as a whole, if the filter wants it; its keys are not looked
 * at. A spec is unpacked only for those whose state is wanted: a list of the few that run
 * passes over a million that wait. */
bool jobs_view_wanted(struct manager *m, struct job *job, const struct manager_filter *f,
                      struct job_view *ret);
/* Status and counts of an array as a whole. */
void jobs_view_array(const struct array *a, struct job_view *ret);
void jobs_view_orphan(const struct orphan *o, struct job_view *ret);

/* --- life --------------------------------------------------------------------------- */
/* Returns a new job, with its unspawned task unless it is one that waits without; not in
 * the table; NULL: out of memory. */
struct job *job_new(struct manager *m, struct job_spec *spec,
                    const struct job_owner *owner, bool durable);
/* The same without a task. */
struct job *job_new_bare(struct job_spec *spec, const struct job_owner *owner,
                         bool durable);
/* It needs its spec no more, or again. 0; -ENOMEM: as before. */
int job_slumber(struct manager *m, struct job *job);
int job_awaken(struct job *job);
/* Returns a reference of the caller's own; NULL: no memory. */
struct job_spec *job_spec_of(const struct job *job);
/* A queued job without a task: it gets one with its slot. */
bool job_waits_bare(const struct job *job);
void job_discard(struct job *job); /* never spawned */
void job_free(struct job *job);    /* its tasks are gone */
/* Lock held: into table, counters, queue. 0; -ENOMEM. */
int job_enter(struct manager *m, struct job *job, uint64_t id, uint64_t now);
/* Lock held, its last task is gone: ended, or dropped by the end of the daemon. */
void job_retire(struct manager *m, struct job *job, struct aftermath *after);

/* Lock held: an ended one leaves the table before its time. */
void job_leave(struct manager *m, struct job *job, struct aftermath *after);

/* Without the lock; m->leaving is set: a task takes those that are too many out of
 * memory. */
void job_leaving_begin(struct manager *m);

/* --- succession (succession.c). Lock held. ------------------------------------------ */
/* Whether this user has such a job that is not done; also in the middle of a replay. */
bool succession_waits(struct manager *m, uid_t uid, uint64_t id);
/* The job that a successor of this user's job waits for: the one for which that is held,
 * or the job itself; 0: none. */
uint64_t succession_root(struct manager *m, uid_t uid, uint64_t id);
/* Room for one on its way (`by`: its job). 0; -EDQUOT; -ENOMEM. */
int succession_reserve(struct manager *m, const void *by);
/* It is not submitted after all. */
void succession_release(struct manager *m, const void *by);
/* It is, under this id, in the place of `earlier`: held if that is not gone meanwhile.
 * Before it is queued. */
void succession_begin(struct manager *m, uint64_t earlier, struct job *job, uint64_t id);
/* Replayed: a job that was submitted in the place of `earlier`. 0; -ENOMEM. */
int succession_restore(struct manager *m, uid_t uid, uint64_t earlier, uint64_t id);
bool succession_is_held(struct manager *m, uint64_t id);
/* The job has gone: its successor begins. */
void succession_over(struct manager *m, uint64_t prev, struct aftermath *after);

/* --- works (work.c) ----------------------------------------------------------------- */
/* Returns a new unspawned task; NULL: out of memory. */
struct work *work_new(struct manager *m, struct job *job, int64_t offset);
void work_drop(void *state);
/* READY: it has been started (STARTING is applied), or has ended before (work_ended). */
enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w);
/* Whether it has a slot, can follow another, or is to stop; otherwise it will be
 * woken. */
bool work_may_go(struct volt_cx *cx, struct work *w);
void work_leaf_fini(struct work *w);
/* READY: it is to stop, or has ended. */
enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w);
/* READY: the time has come. Not so when the runtime shuts down, which is READY for
 * volt_sleep_poll() too: what happens then to a job would be no end, and no timeout. */
enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s);
bool work_ended(struct work *w);
/* Applies one event; an end gives the slot back. */
void work_apply(struct work *w, const struct job_event *ev);
/* READY: what w->leaf.commit waits for is kept, or was refused: its status. */
enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w);
/* Commits the end, then applies it; also of a job that was cancelled in the queue. Every
 * work ends with it; w->step is 0 before. w->again: another attempt follows. */
enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited);
/* The work as it was before its attempt, with its slot. */
void work_begin_again(struct work *w);

/* The poll functions of the kinds. */
enum volt_poll work_noop_poll(struct volt_cx *cx, void *state);
enum volt_poll work_sleep_poll(struct volt_cx *cx, void *state);
enum volt_poll work_array_poll(struct volt_cx *cx, void *state);
enum volt_poll work_exec_poll(struct volt_cx *cx, void *state); /* attempt.c */
/* The attempt with all that its START needs, before that or before STARTING is in the
 * store; its output file is there then. w->attempt stays NULL only without memory. */
void work_prepare(struct work *w, const struct job_key *key);
/* Its START goes out before its task is spawned (attempt_start.c): it has a slot, and its
 * STARTING is in the store. */
void work_send_start(struct work *w);
void attempt_free(struct attempt *a); /* NULL allowed */

/* --- recovery (recover.c) ----------------------------------------------------------- */
/* Replays the store into the table; *ret_max: the greatest job id in it. Blocks; at
 * start, before any task. */
int recover_load(struct manager *m, uint64_t *ret_max, struct volt_error *err);
/* Then, once: queued jobs wait again, running ones are adopted. */
int recover_start(struct manager *m);
/* The manager's copy of the step of an event that was read from the store. */
const char *manager_keep_step(struct manager *m, const char *step);
/* Likewise of the survivors that an event names; NULL: none are named, or no memory. */
const struct job_named *manager_keep_named(struct manager *m,
                                           const struct job_named *named);
/* What recover_start() was not called for, and the rest of what a replay made. */
void recover_discard(struct manager *m);
/* A number that differs when the state of any job does, for tests. */
uint64_t recover_hash(struct manager *m);

/* --- orphans (orphan.c) ------------------------------------------------------------- */
/* Lists the records without a job; *ret_max: the greatest job id among all. A record of
 * an attempt that has ended is remembered for orphans_start() to remove. Blocks; at
 * start, after recover_load(). */
int orphans_scan(struct manager *m, uint64_t *ret_max, struct volt_error *err);
/* A task for each that runs still, and one per record to remove. */
int orphans_start(struct manager *m);
struct orphan *orphans_find(struct manager *m, uint64_t id, int64_t index);

#endif

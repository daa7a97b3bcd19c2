/* Inside the manager: jobs, arrays, works, and the lock they live under.
 *
 * A `struct job` is one record: a job, or an array as a whole. A `struct work` is the
 * state of the libvolt task that carries it: one per job that has begun, and per sleep,
 * noop and array from its submission on; one per element that has started. A job that
 * waits for a slot has none yet: it is a node in its queue, with its spec packed
 * (dormant.h), about 300 bytes. What an array is, and what an event does to it, is in
 * daemon/job/array.h; elements.h has the tasks of its elements.
 *
 * Everything marked [L] is guarded by manager.lock. A section under it (tx.h) is short: a
 * pass over at most JOBS_SLICE jobs. Nothing is woken, freed, logged or called back under
 * it.
 *
 * Life: submit -> table -> slot, task -> core_post ... DONE -> the task is dropped ->
 * the job is `ended` and kept for questions -> forgotten, oldest first, when more than
 * [Store] KeepEndedJobs are kept: from then on questions go to the store (history.c). */
#ifndef VOLTD_EXEC_JOBS_H
#define VOLTD_EXEC_JOBS_H

#include <pthread.h>
#include "daemon/exec/ahead.h"
#include "daemon/exec/audience.h"
#include "daemon/exec/changes.h"
#include "daemon/exec/agenda.h"
#include "daemon/exec/dormant.h"
#include "daemon/exec/elements.h"
#include "daemon/exec/event_ring.h"
#include "daemon/exec/follow.h"
#include "daemon/exec/ids.h"
#include "daemon/exec/index.h"
#include "daemon/exec/interned.h"
#include "daemon/exec/keys.h"
#include "daemon/exec/kinds.h"
#include "daemon/link/keeper_link.h"
#include "daemon/exec/manager.h"
#include "daemon/output/output.h"
#include "daemon/exec/past.h"
#include "daemon/exec/queue.h"
#include "daemon/link/record_watch.h"
#include "daemon/exec/relay.h"
#include "daemon/exec/sweep.h"
#include "daemon/exec/table.h"
#include "daemon/exec/tx.h"
#include "daemon/exec/users.h"
#include "daemon/store/commit_log.h"

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
    uint8_t kind;      /* enum job_kind */
    uint8_t due;       /* enum due_action bits: it is in the agenda */
    int16_t priority;  /* of the spec */
    uint32_t tasks;    /* works that have not been dropped */
    uint32_t bytes;    /* of the spec, for the limit per user: a message has at most 16
                       * MiB */
    uint32_t name_tag; /* of its name, or what is shown for one: index.h */
    uint8_t indexed;   /* index.c's */
    bool labelled : 1; /* the spec has labels */
    bool durable : 1;
    bool claimed : 1;          /* its key, by a submission */
    bool held : 1;             /* until the job that it replaces has gone: succession.c */
    bool recovered : 1;        /* of an earlier daemon */
    bool is_history : 1;       /* recovered, and the store knows that it has ended */
    struct work *live;         /* the job's task, or the array's */
    struct array *array;       /* NULL: one job */
    struct elements *elements; /* of the array */
    struct job *next;          /* in the agenda; out of the table: to be freed */
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
    struct list_node ahead_node; /* [L] */
    uint64_t ahead_until_usec;   /* then it is deferred; 0: it has not waited yet */
    struct relay_place relay;    /* [L] */
    bool adopted; /* it was starting or running when an earlier daemon ended */
    bool kept_starting, kept_started; /* [L] post.c's: the store has these facts */
    bool ending;                      /* [L] post.c's: its end is on its way there */
    bool again; /* post.c's: another attempt follows the one that is lost */
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

/* A job, and the one that follows it. */
struct succession {
    uint64_t prev, next; /* next 0: a submission on its way */
    const void *by;      /* that submission */
};

/* A record without a job, from an earlier life of the daemon. */
struct orphan {
    struct job_key key;
    struct job_status status;
};

/* What jobs are held against, of the configuration in force. */
struct job_limits {
    uint64_t max_jobs, max_jobs_per_user, max_bytes_per_user; /* that have not ended */
    uint64_t max_array;
    uint64_t fold_output;     /* bytes up to which an output is stored with the end */
    uint64_t keep_ended_jobs; /* in memory */
    uint64_t keep_history;    /* in the store */
};

struct manager {
    struct volt_runtime *rt;
    struct store *store;
    const struct kinds *kinds;
    struct ids ids;
    struct keeper_link *link;   /* NULL: no keeper, no kind exec */
    struct record_watch *watch; /* NULL likewise */
    int state_fd, record_fd;
    struct outputs outputs;  /* its own locks */
    struct changes *changes; /* likewise */
    struct follows *follows; /* likewise */
    vat_u64 told; /* the most waits that were looked at in one poll, to tell of something:
                   * jobs_note_told(); for any thread, relaxed */
    struct meters *meters; /* likewise */
    uint8_t boot_id[RECORD_ID_SIZE];
    char *address;
    struct volt_notify news;

    pthread_mutex_t lock;
    struct job_limits limits;     /* [L] */
    struct table table;           /* [L] */
    struct index index;           /* [L] of the table */
    struct queue queue;           /* [L] */
    struct agenda agenda;         /* [L] */
    struct dispatcher dispatcher; /* [L] */
    struct ahead ahead;           /* [L] */
    struct relay relay;           /* [L] */
    struct event_ring ring;       /* [L] as things happen */
    pthread_mutex_t log_lock;
    struct event_ring log; /* under log_lock: what is kept, by the store's numbers */
    struct audience log_audience; /* its own lock */
    uint32_t watchers;            /* of the log; changed with both locks, read with one */
    uint32_t entering; /* [L] submissions that may be kept and are not in the table */
    struct manager_counts counts; /* [L] */
    struct manager_held held;     /* [L] since the lock was taken */
    uint64_t gone;          /* [L] weight of what left the table since memory went back */
    struct users users;     /* [L] */
    struct list ended;      /* [L] by their queue nodes' links; the oldest first */
    struct past past;       /* [L] the ends of forgotten jobs */
    uint64_t forgotten_max; /* [L] the greatest id of these; 0: none */
    struct shares shares;   /* its own lock */
    struct keys keys;       /* [L] but for its secret */
    struct succession *successions; /* [L] */
    size_t nsuccessions;            /* [L] */
    uint64_t claimers;     /* [L] submissions that claimed keys so far */
    uint64_t ended_weight; /* [L] an element of an array weighs 1/8 */
    bool up;               /* everything that had been started is known */
    bool closed;           /* [L] */
    bool ending;           /* [L] what is entered is cancelled */
    bool news_due;         /* [L] the ring has grown since the last notify */
    bool entered;          /* [L] jobs that the log may tell of are in the table now */
    struct orphan
        *orphans; /* [L] status; the rest never changes; in order of their keys */
    size_t norphans;
    struct sweep sweep;
    struct interned interned; /* its own lock */
    struct work **resumed;    /* between recover_load() and recover_start() */
    size_t nresumed;
};

#define job_of_node(n) ((struct job *)(void *)((char *)(n)-offsetof(struct job, node)))

/* Lock held. Counts work done under it. */
static inline void manager_did(struct manager *m, uint64_t entries, uint64_t bytes,
                               uint64_t facts)
{
    m->held.entries += entries;
    m->held.bytes += bytes;
    m->held.facts += facts;
}
/* Frees the table with its jobs; no task is left. */
void manager_forget_all(struct manager *m);
uint64_t jobs_now_usec(void); /* CLOCK_REALTIME */
/* A poll has looked at so many waits. Any thread. */
void jobs_note_told(struct manager *m, uint64_t looked);

/* --- questions and steps. Lock held. ------------------------------------------------ */
/* Of a job, or of an element that has a status of its own. */
const struct job_status *jobs_status(const struct job *job, int64_t offset);
/* Also of an element without one. */
struct job_status jobs_any_status(const struct job *job, int64_t offset);
/* The task of the job, array or element; NULL: it has none. */
struct work *jobs_live(const struct job *job, int64_t offset);
bool jobs_done(const struct job *job);
/* Subscriber of the store's news: into the log. */
void jobs_log(void *manager, const struct job_news *news, size_t n);
struct job_key jobs_key(const struct job *job, int64_t offset);
/* Slots bound processes; sleep and noop have none and take none. */
bool jobs_slotted(const struct job *job);
/* Lock held. The task of a job whose turn has come. False: no memory. */
bool jobs_give_task(struct tx *tx, struct job *job);
/* Remembers a waiting work to be woken. */
void jobs_wake(struct work *w, struct tx *tx);
bool jobs_visible(uid_t asker, uid_t owner);
/* The job that uid may see, and the offset of its element `index`; NULL: none, or only
 * the store has the element (array_is_counts()). */
struct job *jobs_find(struct manager *m, uid_t uid, uint64_t id, int64_t index,
                      int64_t *ret_offset);

/* --- views (query.c). Lock held. ---------------------------------------------------- */
void jobs_view(struct manager *m, struct job *job, int64_t offset, struct job_view *ret);
/* The same of a job or array as a whole, if the filter wants it; its keys are not looked
 * at. A spec is unpacked only for those whose state is wanted: a list of the few that run
 * passes over a million that wait. */
bool jobs_view_wanted(struct manager *m, struct job *job, const struct manager_filter *f,
                      enum manager_specs specs, struct job_view *ret);
/* The same for manager_wants(). */
bool jobs_wanted_of_event(struct manager *m, struct job *job,
                          const struct manager_filter *f);
/* An element of an array, if the filter wants its state and its result. */
bool jobs_view_element(struct manager *m, struct job *array, int64_t offset,
                       const struct manager_filter *f, struct job_view *ret);
/* Returns a reference of the caller's own, or NULL: no memory. A dormant spec is unpacked
 * without its environment, which no filter looks at: that is most of it. *ret_unpacked:
 * bytes. */
struct job_spec *jobs_brief_spec(struct manager *m, const struct job *job,
                                 size_t *ret_unpacked);
/* Status and counts of an array as a whole. */
void jobs_view_array(const struct array *a, struct job_view *ret);
void jobs_view_orphan(const struct orphan *o, struct job_view *ret);

/* --- life --------------------------------------------------------------------------- */
/* Returns a new job, with its unspawned task unless it is one that waits without; not in
 * the table; NULL: out of memory. */
struct job *job_new(struct manager *m, struct job_spec *spec,
                    const struct job_owner *owner, bool durable);
/* The same without a task. ended: of an array only the counts are wanted. */
struct job *job_new_bare(const struct manager *m, struct job_spec *spec,
                         const struct job_owner *owner, bool durable, bool ended);
/* It needs its spec no more, or again. 0; -ENOMEM: as before. */
int job_slumber(struct manager *m, struct job *job);
int job_awaken(struct job *job);
/* Returns a reference of the caller's own; NULL: no memory. */
struct job_spec *job_spec_of(const struct job *job);
/* A queued job without a task: it gets one with its slot. */
bool job_waits_bare(const struct job *job);
void job_discard(struct job *job); /* never spawned */
void job_free(struct job *job);    /* its tasks are gone */
/* Lock held, its last task is gone: ended, or dropped by the end of the daemon. */
void job_retire(struct tx *tx, struct job *job);

/* Lock held: an ended one leaves the table before its time. */
void job_leave(struct tx *tx, struct job *job);

/* The oldest of the ended jobs that are too many leave memory, JOBS_SLICE at most: a
 * large array or another configuration makes many too many at once. True: more are. */
bool job_leave_some(struct tx *tx);

/* The asker's job, all of it, is cancelled by the dispatcher, when there is memory. */
void manager_cancel_later(struct manager *m, const struct job_owner *asker, uint64_t id);

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
/* This user's job is due to be cancelled, if it is not done. */
void succession_cancel(struct manager *m, uid_t uid, uint64_t id);
/* Replayed: a job that was submitted in the place of `earlier`. 0; -ENOMEM. */
int succession_restore(struct manager *m, uid_t uid, uint64_t earlier, uint64_t id);
bool succession_is_held(struct manager *m, uint64_t id);
/* The job has gone: its successors are due to be released. */
void succession_over(struct manager *m, uint64_t prev);
/* The job is held no more. */
void succession_end(struct manager *m, struct job *job);

/* --- works (work.c) ----------------------------------------------------------------- */
void work_drop(void *state);
/* READY: it has been started (STARTING is posted), or has ended before (work_ended). */
enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w);
/* ON_STOP, ON_SLOT, or ON_CHAIN with the serial of the START to follow; -1: none of them,
 * and it will be woken. */
int work_place(struct volt_cx *cx, struct work *w, uint64_t *ret_after);
void work_leaf_fini(struct work *w);
/* READY: it is to stop, or has ended. */
enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w);
/* READY: the time has come. Not so when the runtime shuts down, which is READY for
 * volt_sleep_poll() too: what happens then to a job would be no end, and no timeout. */
enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s);
bool work_ended(struct work *w);
/* As core_post(), of its job. -EPROTO of one that does not stop is logged. */
int work_post(struct work *w, const struct job_event *ev);
/* READY: what w->leaf.commit waits for is kept, or was refused: its status. */
enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w);
/* Commits the end, then applies it; also of a job that was cancelled in the queue. Every
 * work ends with it; w->step is 0 before. w->again: another attempt follows. */
enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited);
/* The work as it was before its attempt, with its slot. */
void work_begin_again(struct work *w);

/* The poll functions of the kinds (kinds.c). */
enum volt_poll work_noop_poll(struct volt_cx *cx, void *state);
enum volt_poll work_sleep_poll(struct volt_cx *cx, void *state);
enum volt_poll work_array_poll(struct volt_cx *cx, void *state);
enum volt_poll work_exec_poll(struct volt_cx *cx, void *state); /* attempt.c */
/* The attempt, before STARTING is in the store, with what its START needs if that can be
 * had now; its output file is there then. w->attempt stays NULL only without memory. */
void work_prepare(struct volt_cx *cx, struct work *w, const struct job_key *key);
/* Its START goes out before its task is spawned (attempt.c): it has a slot, and its
 * STARTING is in the store. */
void work_send_start(struct work *w);
void attempt_free(struct attempt *a); /* NULL allowed */

/* --- recovery (recover.c) ----------------------------------------------------------- */
/* Replays the store into the table; *ret_max: the greatest job id in it. Blocks; at
 * start, before any task. */
int recover_load(struct manager *m, uint64_t *ret_max, struct volt_error *err);
/* Then, once: queued jobs wait again, running ones are adopted. */
int recover_start(struct manager *m);
/* What recover_start() was not called for, and the rest of what a replay made. */
void recover_discard(struct manager *m);
/* A number that differs when the state of any job does, for tests. */
uint64_t recover_hash(struct manager *m);

/* --- orphans (orphan.c) ------------------------------------------------------------- */
/* Lists the records without a job; *ret_max: the greatest job id among all. A record of
 * an attempt that has ended is remembered for orphans_start() to remove. Blocks; at
 * start, after recover_load(). */
int orphans_scan(struct manager *m, const char *dir, uint64_t *ret_max,
                 struct volt_error *err);
/* A task for each that runs still, and one per record to remove. */
int orphans_start(struct manager *m);
struct orphan *orphans_find(struct manager *m, uint64_t id, int64_t index);

#endif

/* A job in memory: one record for a job, or for an array as a whole.
 *
 * daemon/job/array.h says what an array is and what an event does to it. elements.h has
 * the tasks of its elements, work.h the task of a job.
 *
 * [L] marks what core.lock guards. A section under it (tx.h) is short: at most JOBS_SLICE
 * jobs, and nothing is woken, freed, logged or called back.
 *
 * Life: submit -> table -> slot, task -> core_post ... DONE -> the task is freed -> the
 * job is in core.ended, for lists -> more than [Store] KeepEndedJobs are there: the
 * oldest leave memory, and questions go to the store (query/history.c).
 *
 * A question finds the job in one of the two, whenever it comes:
 *
 *   the job                                   the question
 *   1. its last fact is appended              1. lock: the job is in the table, or
 *   2. a later barrier of the store is done   2. unlock; the store has its end
 *   3. lock: the job leaves the table
 *
 * Without 2. a question between 3. and the commit would find the job nowhere. Nobody need
 * ask the store again: the job is purged, or has never existed. A job whose end the store
 * has refused (no memory) stays until voltd ends. */
#ifndef VOLTD_CORE_JOBS_H
#define VOLTD_CORE_JOBS_H

#include <stddef.h>
#include "base/siphash.h"
#include "daemon/admit/admission.h"
#include "daemon/core/core.h"
#include "daemon/core/packed.h"
#include "daemon/core/elements.h"
#include "daemon/core/tx.h"
#include "daemon/job/owner.h"
#include "daemon/job/array.h"
#include "daemon/job/job.h"
#include "daemon/job/key.h"
#include "daemon/job/news.h"
#include "daemon/job/spec.h"

struct asker;
struct store_fact;

#define NO_OFFSET ARRAY_WHOLE /* the job or array itself */

/* [L] */
struct job {
    uint64_t id;
    struct job_spec *spec; /* NULL: packed; never NULL for arrays */
    struct packed *packed; /* NULL: the job has a spec */
    union {
        struct waiter waiter;      /* until the job has ended: waiting.h */
        struct {                   /* from then on: */
            struct list_node node; /* in core.ended */
            uint64_t barrier;      /* when that is done, the store has the end: tx.h */
        };
    };
    struct siphash128 key; /* name of its idempotency key (keys.h); zeroes: none */
    struct job_owner owner;
    /* Constant while the job has a task, which reads them without the lock: so they have
     * a memory location of their own. */
    uint8_t kind : 3;  /* enum job_kind */
    bool claims : 1;   /* the spec has claims (locks, semaphores, rates) */
    bool labelled : 1; /* the spec has labels */
    bool durable : 1;
    bool recovered : 1;  /* made by an earlier voltd */
    bool is_history : 1; /* recovered, and the store has its end */
    uint8_t : 0;
    uint8_t indexed : 3;   /* enum index_place and class: index.c */
    bool claimed : 1;      /* a submission has claimed its key */
    bool due : 1;          /* in the agenda */
    bool replaced : 1;     /* listed in core.replacements */
    bool retired : 1;      /* in core.ended */
    bool all_early : 1;    /* in the line, and all of it starts early */
    int16_t priority : 12; /* copy of the spec's */
    bool conditioned : 1;  /* the spec has conditions other than a hold: conditions.h */
    bool elsewhere : 1;    /* the spec names a queue other than "default": queues.h */
    bool unstored : 1;     /* the store lacks its end: it stays in memory */
    uint32_t tasks;        /* works not yet freed */
    uint32_t bytes;        /* of the spec, for the user's limit: a message has at most 16
                          * MiB */
    uint32_t name_tag;     /* tag of its name, or of what stands for one: index.h */
    struct work *live;     /* the task of the job, or of an array that needs no slots */
    struct array *array;   /* NULL: one job */
    struct elements *elements; /* of an array */
    struct job *next;          /* in the agenda; after the table: in the list of jobs to
                                * free */
    struct job_status status;  /* of an array: only the submission */
};

#define job_of_waiter(w) list_thing(w, struct job, waiter)

uint64_t jobs_now_usec(void); /* CLOCK_REALTIME */
/* Lock held. Returns the ticket in core.log (log/watermark.h), never 0, of a fact that is
 * about to be appended and counts when it is durable. */
uint8_t core_before_log(struct core *core);
/* Lock held. Ends the ticket: the fact counts, or never will. Sets *ticket to 0; a ticket
 * of 0 is ignored. */
void core_after_log(struct core *core, uint8_t *ticket);

/* Lock held. Adds an event to the ring; dispatch_finish() notifies of it. */
void core_event_add(struct core *core, const struct job_news *ev);
/* Copies a portion of events, as event_ring_read(). Any thread, without the lock. Events
 * of a section that still holds the lock may be among them; taking the lock afterwards
 * waits for that section. */
size_t core_events_read(struct core *core, const struct asker *asker, uint64_t after,
                        struct job_news *buf, size_t max, uint64_t *ret_next,
                        uint64_t *ret_lost);
/* Lock held. Returns the greatest id of a job that has left memory. 0: none has. */
uint64_t jobs_forgotten_max(const struct core *core);
/* Notes that the store has a job of this id, or its key, which memory may lack. Before
 * there are tasks. */
void jobs_note_forgotten(struct core *core, uint64_t id);
/* Notes how many subscriptions one poll visited to notify of an event; jobs_visited()
 * returns the most. Any thread. */
void jobs_note_visited(struct core *core, uint64_t visited);
uint64_t jobs_visited(const struct core *core);
/* Count subscriptions to more than ends. While there are any, core.ends is notified of
 * every change. The subscribers look later, under the lock. Any thread. */
void jobs_subscribe_all(struct core *core, uint32_t n);
void jobs_unsubscribe_all(struct core *core, uint32_t n);
bool jobs_has_subscribed_all(const struct core *core);

/* --- questions. Lock held. ---------------------------------------------------------- */
/* Returns the status of a job, or of an element that has one of its own. */
const struct job_status *jobs_status(const struct job *job, int64_t offset);
/* Does the same also for an element without one. */
struct job_status jobs_any_status(const struct job *job, int64_t offset);
bool jobs_done(const struct job *job);
/* Returns job_has_begun(); for an array whether an element has begun. */
bool jobs_has_begun(const struct job *job);
struct job_key jobs_key(const struct job *job, int64_t offset);
bool jobs_is_process(const struct job *job); /* job/kind.h */
/* Returns whether the job has ended and processes that may be left still have its
 * claims. */
bool jobs_left(const struct job *job, const struct job_status *st);
/* Returns whether the job takes a slot (as processes do) or has claims. Such a job waits
 * in the line and gets its task with its grant. */
bool jobs_takes(const struct job *job);
/* Returns the same; for an ended job whether processes that are left may have its
 * claims. */
bool jobs_may_take(const struct job *job);

/* --- life --------------------------------------------------------------------------- */
/* Returns a new job with its unspawned task, or without one if the job waits without. Not
 * yet in the table. NULL: no memory. */
struct job *job_new(struct core *core, struct job_spec *spec,
                    const struct job_owner *owner, bool durable);
/* Does the same without a task. ended: makes only the counts of an array. */
struct job *job_new_bare(const struct core *core, struct job_spec *spec,
                         const struct job_owner *owner, bool durable, bool ended);
/* Sets the members that follow from the spec and that an edit may change. */
void job_describe(const struct core *core, struct job *job, const struct job_spec *spec);
/* Make the packed spec, and unpack it. Return 0, or -ENOMEM: nothing has changed. */
int job_slumber(struct core *core, struct job *job);
int job_awaken(struct job *job);
/* Returns a new reference to the spec. NULL: no memory. */
struct job_spec *job_spec_of(const struct job *job);
/* Returns whether a queued job has no task until its slot comes, and so needs no unpacked
 * spec. */
bool job_waits_bare(const struct job *job);
void job_discard(struct job *job); /* its task was never spawned */
void job_free(struct job *job);    /* its tasks are freed */
/* Removes the output of a job that the store does not know. Takes no lock. */
void jobs_forget_output(struct core *core, uint64_t id);
/* Returns the fact that nothing more comes of the job, which makes it history. A job
 * without leftovers that hold claims stores it with its end. Other jobs, and arrays,
 * store it when the last task is freed; if the store refuses, at the next start. */
struct store_fact job_last(const struct job *job, uint64_t at_usec);
/* Lock held. Makes the job's row for its key, if it has one. Returns the number of facts,
 * 0 or 1. While a submission takes the key over, the row already has that submission's
 * hash: if the submission fails, a restart refuses the earlier one instead of running it
 * twice. */
size_t job_last_key(const struct core *core, const struct job *job, uint64_t at_usec,
                    struct job_end end, struct store_fact *ret);
void job_append_last(struct tx *tx, struct job *job, uint64_t at_usec);
/* Lock held. Retires a job whose last task was freed, by its end or by voltd's. */
void job_retire(struct tx *tx, struct job *job);
/* Lock held. Takes an ended job out of the table early. */
void job_leave(struct tx *tx, struct job *job);
/* Lock held. Takes the oldest of too many ended jobs out of memory, at most JOBS_SLICE of
 * them: a large array, or a new configuration, makes many too many at once. Returns true
 * if more are due. Jobs whose ends are not known to be durable stay, and the dispatcher's
 * task is asked for a barrier. */
bool job_leave_some(struct tx *tx);

#endif

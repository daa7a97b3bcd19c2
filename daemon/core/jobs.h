/* A job in memory: one record, a job or an array as a whole.
 *
 * What an array is, and what an event does to it, is in daemon/job/array.h; elements.h
 * has the tasks of its elements; work.h has the task of a job.
 *
 * Everything marked [L] is guarded by core.lock. A section under it (tx.h) is short: a
 * pass over at most JOBS_SLICE jobs. Nothing is woken, freed, logged or called back under
 * it.
 *
 * Life: submit -> table -> slot, task -> core_post ... DONE -> the task is dropped ->
 * the job is `ended` and kept for questions -> forgotten, oldest first, when more than
 * [Store] KeepEndedJobs are kept: from then on questions go to the store
 * (query/history.c). */
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
    struct job_spec *spec; /* NULL while it is packed; never of arrays */
    struct packed *packed; /* NULL: there is a spec */
    union {
        struct waiter waiter;  /* until it has ended: waiting.h */
        struct list_node node; /* from then on: in core.ended */
    };
    struct siphash128 key; /* name of its idempotency key; zeroes: none */
    struct job_owner owner;
    /* Never changes once the job is made, so that its task reads it without the lock: in
     * a memory location of its own. */
    uint8_t kind : 3;  /* enum job_kind */
    bool claims : 1;   /* the spec has claims: locks, semaphores */
    bool labelled : 1; /* the spec has labels */
    bool durable : 1;
    bool recovered : 1;  /* of an earlier daemon */
    bool is_history : 1; /* recovered, and the store knows that it has ended */
    uint8_t : 0;
    uint8_t indexed : 3; /* index.c's */
    bool claimed : 1;    /* its key, by a submission */
    bool due : 1;        /* it is in the agenda */
    bool replaced : 1;   /* replacement.c's: it is listed there */
    bool retired : 1;    /* it is in core.ended */
    bool all_early : 1;  /* it is in the line, and nothing of it but what starts early */
    int16_t priority : 12; /* of the spec */
    bool conditioned : 1;  /* the spec has conditions beside a hold: conditions.h */
    bool elsewhere : 1;    /* the spec names another queue than "default": queues.h */
    uint32_t tasks;        /* works that have not been dropped */
    uint32_t bytes;      /* of the spec, for the limit per user: a message has at most 16
                          * MiB */
    uint32_t name_tag;   /* of its name, or what is shown for one: index.h */
    struct work *live;   /* the job's task, or that of an array that needs no slots */
    struct array *array; /* NULL: one job */
    struct elements *elements; /* of the array */
    struct job *next;          /* in the agenda; out of the table: to be freed */
    struct job_status status;  /* of an array only its submission */
};

#define job_of_waiter(w) list_thing(w, struct job, waiter)

uint64_t jobs_now_usec(void); /* CLOCK_REALTIME */
/* Lock held. A fact that counts only when it is durable is about to be appended: its
 * ticket in core.log (log/watermark.h), never 0. */
uint8_t core_before_log(struct core *core);
/* Lock held. It counts, or never will. The ticket is 0 afterwards, and may be before. */
void core_after_log(struct core *core, uint8_t *ticket);

/* Lock held. It is in the ring, and dispatch_finish() notifies of it. */
void core_tell(struct core *core, const struct job_news *ev);
/* event_ring_read() of a portion, also of what a section has told that is not over yet: a
 * look at the jobs after it waits for its end. Any thread, without the lock. */
size_t core_told(struct core *core, const struct asker *asker, uint64_t after,
                 struct job_news *buf, size_t max, uint64_t *ret_next,
                 uint64_t *ret_lost);
/* Lock held. The greatest id of the jobs that have left memory; 0: none has. */
uint64_t jobs_forgotten_max(const struct core *core);
/* Before there is any task: the store has a job of this id, or its key, and memory may
 * not. */
void jobs_note_forgotten(struct core *core, uint64_t id);
/* A poll has looked at so many waits, to tell of something; the most so far. Any
 * thread. */
void jobs_note_told(struct core *core, uint64_t looked);
uint64_t jobs_told(const struct core *core);
/* So many subscriptions more, or less, to more than ends: while there are any, core.ends
 * is notified of each change. They look with the lock later. Any thread. */
void jobs_subscribe_all(struct core *core, uint32_t n);
void jobs_unsubscribe_all(struct core *core, uint32_t n);
bool jobs_has_subscribed_all(const struct core *core);

/* --- questions. Lock held. ---------------------------------------------------------- */
/* Of a job, or of an element that has a status of its own. */
const struct job_status *jobs_status(const struct job *job, int64_t offset);
/* Also of an element without one. */
struct job_status jobs_any_status(const struct job *job, int64_t offset);
bool jobs_done(const struct job *job);
/* job_has_begun(), of an array whether an element has. */
bool jobs_has_begun(const struct job *job);
struct job_key jobs_key(const struct job *job, int64_t offset);
bool jobs_is_process(const struct job *job); /* its kind is one: job/kind.h */
/* Ended, and processes of it are left, or may be, that have what it claims. */
bool jobs_left(const struct job *job, const struct job_status *st);
/* Whether it takes a slot (slots bound processes) or has claims: it waits in the line,
 * and gets its task with what it takes. */
bool jobs_takes(const struct job *job);
/* That, or it has ended and may have left processes that have its claims. */
bool jobs_may_take(const struct job *job);

/* --- life --------------------------------------------------------------------------- */
/* Returns a new job, with its unspawned task unless it is one that waits without; not in
 * the table; NULL: out of memory. */
struct job *job_new(struct core *core, struct job_spec *spec,
                    const struct job_owner *owner, bool durable);
/* The same without a task. ended: of an array only the counts are wanted. */
struct job *job_new_bare(const struct core *core, struct job_spec *spec,
                         const struct job_owner *owner, bool durable, bool ended);
/* What is known of it without its spec, but for what never changes. */
void job_describe(const struct core *core, struct job *job, const struct job_spec *spec);
/* It needs its spec no more, or again. 0; -ENOMEM: as before. */
int job_slumber(struct core *core, struct job *job);
int job_awaken(struct job *job);
/* Returns a reference of the caller's own; NULL: no memory. */
struct job_spec *job_spec_of(const struct job *job);
/* A queued job without a task, which comes with its slot: it needs no spec meanwhile. */
bool job_waits_bare(const struct job *job);
void job_discard(struct job *job); /* never spawned */
void job_free(struct job *job);    /* its tasks are gone */
/* The output of these jobs, which no store forgets, is removed. Takes no lock. */
void jobs_forget_output(struct core *core, const uint64_t *ids, size_t n);
/* The fact that nothing more comes of the job: it is history then. A job has it with its
 * end, if nothing is left of it that holds its claims; else, and an array always, it is
 * appended when the last task goes: if that is refused, at the next start. */
struct store_fact job_last(const struct job *job, uint64_t at_usec);
/* What goes with it if the job has a key: its number. Lock held. While a submission is
 * about to take the key over, the row is of what that submits: if it fails, the one
 * before is refused after a restart, and never run again. */
size_t job_last_key(const struct core *core, const struct job *job, uint64_t at_usec,
                    struct job_end end, struct store_fact *ret);
void job_append_last(struct tx *tx, const struct job *job, uint64_t at_usec);
/* Lock held, its last task is gone: ended, or dropped by the end of the daemon. */
void job_retire(struct tx *tx, struct job *job);
/* Lock held: an ended one leaves the table before its time. */
void job_leave(struct tx *tx, struct job *job);
/* Lock held. The oldest of the ended jobs that are too many leave memory, JOBS_SLICE at
 * most: a large array or another configuration makes many too many at once. True: more
 * are. */
bool job_leave_some(struct tx *tx);

#endif

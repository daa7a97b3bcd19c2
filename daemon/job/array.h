/* An array: many elements of one job; its state, and what events do to it. Pure.
 *
 * An element is identified here by its offset, from 0. Most of a large array costs
 * nothing: untouched elements have no status. Together they are the rest, which is a
 * number. With its first event an element leaves the rest and has a status of its own, in
 * a chunk of ARRAY_CHUNK. array_reserve() makes the chunk before the event is appended to
 * the store, so array_update() never fails for lack of memory.
 *
 *   event     of the array (ARRAY_WHOLE)         of an element
 *             before   live        cancelled     in the rest          with a status
 *   SUBMIT    begins   refused     refused       leaves the rest      refused
 *   STARTING  refused  refused     refused       leaves it, starting  as job.h
 *   CANCEL    refused  rest ends   refused       leaves it, done      as job.h
 *   EXPIRED   refused  rest ends   refused       refused              as job.h
 *   DEPENDENCY        as EXPIRED
 *   MET       refused  accepted    refused       refused              refused
 *   EDIT              as MET
 *   HOLD      refused  is held     refused       refused              refused
 *   RELEASE   refused  if held     refused       refused              refused
 *   others    refused  refused     refused       refused              as job.h
 *
 * HOLD applies to all queued elements, now and later: the dispatcher chooses which
 * elements start. SUBMIT of an element means that its task was made: it gets no other. An
 * array in which all has ended refuses everything, as does an element that ended with the
 * rest.
 *
 * The state of the whole array is not stored, but follows from the counts. The first row
 * counts that holds:
 *
 *   done      every element is done
 *   stopping  CANCEL has come
 *   paused    an element is paused, and none is starting, running or stopping
 *   running   an element is starting, running, paused, stopping or done
 *   queued    otherwise
 *
 * Its result is that of the ended element with the largest exit code; among equal codes,
 * of the earliest end; among equal ends, of the lowest offset. The rest comes last. So
 * the order of events does not matter, and a replay gives the same result. The rest ends
 * in one step, at the time of the CANCEL.
 *
 * Replay. The store returns the facts of the array first, then those of the elements in
 * order. So CANCEL comes before events of elements that are older. Between
 * array_replay_begin() and array_replay_end() a CANCEL is only noted; the rest ends at
 * array_replay_end().
 *
 * Invariants, from SUBMIT on, between two calls
 *   A-1  by_state counts every element once: its sum is total; the rest is queued.
 *   A-2  by_result counts every ended element once: its sum is by_state[JOB_DONE].
 *   A-3  rest = elements without a status, or 0 when the rest has ended.
 *   A-4  While rest > 0, `next` is the lowest offset in it.
 *   A-5  cancelled_usec != 0 outside a replay: rest == 0.
 *   A-6  worst and exit_code are of an ended element; zeroes: none has ended.
 *
 * There is no list of the rest. Elements leave it in order, except those cancelled one by
 * one, which `next` skips. */
#ifndef VOLTD_JOB_ARRAY_H
#define VOLTD_JOB_ARRAY_H

#include <stddef.h>

#include "daemon/job/job.h"

#define ARRAY_CHUNK 128
#define ARRAY_WHOLE INT64_C(-1) /* instead of an offset: the array itself */

struct array {
    uint64_t total;
    uint64_t rest, next;
    uint64_t by_state[JOB_STATE_COUNT];
    uint64_t by_result[JOB_RESULT_COUNT];
    uint64_t submitted_usec; /* from SUBMIT, also of each element */
    uint64_t cancelled_usec; /* of CANCEL, EXPIRED or DEPENDENCY of the array; 0: none so
                              * far */
    uint64_t started_usec;   /* earliest start of an attempt; 0: none */
    uint64_t ended_usec;     /* latest end of an element; 0: none */
    bool retry_lost;         /* from SUBMIT */
    bool has_begun;          /* an element has begun, or may have (job_has_begun()) */
    uint8_t held;            /* enum job_held */
    uint8_t rest_result;     /* enum job_result with which the rest ended */
    struct job_cause cause;  /* of DEPENDENCY */
    bool replays;
    uint16_t edited, edits, holds; /* as in job_status */
    int exit_code;
    struct job_status worst;
    uint64_t worst_offset;
    struct job_status **chunks; /* ARRAY_CHUNK each; NULL until needed. chunks NULL:
                                 * counts only */
};

/* Effects of an event, for the caller's counters and news. */
struct array_effects {
    uint64_t moved;   /* elements that changed from one state to the other */
    uint8_t from, to; /* enum job_state; may be equal */
    uint8_t result;   /* enum job_result of these elements, if done */
    bool over;        /* the whole array ended */
};

/* Returns new; total is at least 1. NULL: no memory. */
struct array *array_new(uint64_t total);
/* Likewise, for an ended array whose counts stay in memory and whose elements are in the
 * store. Questions about its elements are not allowed. */
struct array *array_new_counts(uint64_t total);
void array_free(struct array *a); /* NULL allowed */
/* Makes room for the status of an element. Returns 0 or -ENOMEM. */
int array_reserve(struct array *a, int64_t offset);

/* Applies an event to the array (ARRAY_WHOLE) or to an element with room. Uses only the
 * type of an element's SUBMIT: time and policy are the array's. Returns 0 with
 * *ret_effects; -EPROTO: not allowed, nothing changed. */
int array_update(struct array *a, int64_t item, const struct job_event *ev,
                 struct array_effects *ret_effects);
void array_replay_begin(struct array *a); /* before SUBMIT */
void array_replay_end(struct array *a);

/* Folds the facts of an ended array, in the store's order, into counts. Has the status of
 * one element at a time. An element whose facts have no end, because memory lacked for
 * the last one, counts as lost. */
struct array_fold {
    struct array *array;       /* after its SUBMIT; needs no room for elements */
    int64_t item;              /* of the latest event; ARRAY_WHOLE: none so far */
    struct job_status element; /* its status */
};

void array_fold_begin(struct array_fold *f, struct array *a);
/* Adds the next event, of the array or of an element. Returns 0 or -EPROTO. */
int array_fold_event(struct array_fold *f, int64_t item, const struct job_event *ev);
/* Ends the fold: the array is done. */
void array_fold_end(struct array_fold *f);
/* Return the status of an element before its first fact, after its last one, and at the
 * end without facts. */
void array_element_begin(const struct array *a, struct job_status *ret);
struct job_status array_ended_as(const struct job_status *st);
struct job_status array_ended_without(const struct array *a);
/* Returns whether the rest ended as EXPIRED or DEPENDENCY: queued elements do too. */
bool array_is_doomed(const struct array *a);
/* Returns whether it was ended by CANCEL: queued elements end, running ones are to. */
bool array_is_cancelled(const struct array *a);
/* Returns the event that ends a queued element, as the rest has ended. */
struct job_event array_end_event(const struct array *a, uint64_t at_usec);

static inline bool array_is_counts(const struct array *a)
{
    return !a->chunks;
}

static inline bool array_done(const struct array *a)
{
    return a->by_state[JOB_DONE] == a->total;
}

/* Returns the number of starting, running, paused and stopping elements. */
static inline uint64_t array_busy(const struct array *a)
{
    return job_count_busy(a->by_state);
}

static inline uint64_t array_failed(const struct array *a)
{
    return a->by_state[JOB_DONE] - a->by_result[JOB_RESULT_SUCCESS] -
           a->by_result[JOB_RESULT_CANCELLED];
}

/* Returns the state of the whole array. */
enum job_state array_state(const struct array *a);
/* Returns the status of the whole array. Before its end, what it says of a process is
 * that of the worst element so far. */
struct job_status array_status(const struct array *a);
/* Returns the status of an element, also of the rest. */
struct job_status array_element(const struct array *a, int64_t offset);
/* Returns the element's own status; NULL: it has none. */
static inline const struct job_status *array_own(const struct array *a, int64_t offset)
{
    const struct job_status *chunk = a->chunks[(uint64_t)offset / ARRAY_CHUNK];
    const struct job_status *st = chunk ? &chunk[(uint64_t)offset % ARRAY_CHUNK] : NULL;

    return st && st->submitted_usec ? st : NULL;
}
/* Returns the first status of an element's own at or behind *offset, and sets *offset.
 * NULL: none. */
const struct job_status *array_find_own(const struct array *a, int64_t *offset);
/* Likewise. Subtracts from *looks one per element looked at and one per chunk skipped;
 * NULL also when none is left. */
const struct job_status *array_find_own_within(const struct array *a, int64_t *offset,
                                               unsigned *looks);
/* Returns the element to start next: the first of the rest. ARRAY_WHOLE: the rest is
 * empty. */
int64_t array_next(const struct array *a);

#endif

/* An array: many elements of one job. What it is, and what an event does to it. Pure.
 *
 * An element is known here by its offset, from 0. Most of a large array costs nothing: an
 * element to which nothing has happened has no status. All of these are the rest, which
 * is a number. With its first event an element leaves the rest and has a status of its
 * own, in a chunk of ARRAY_CHUNK. array_reserve() makes the chunk before the event is
 * appended to the store, so array_update() never fails for memory.
 *
 * event     of the array (ARRAY_WHOLE)         of an element
 *           before   live        cancelled     in the rest          with a status
 * SUBMIT    begins   refused     refused       leaves the rest      refused
 * STARTING  refused  refused     refused       leaves it, starting  as job.h
 * CANCEL    refused  rest ends   refused       leaves it, done      as job.h
 * EXPIRED   refused  rest ends   refused       refused              as job.h
 * DEPENDENCY        as EXPIRED
 * MET       refused  taken       refused       refused              refused
 * EDIT              as MET
 * HOLD      refused  is held     refused       refused              refused
 * RELEASE   refused  if held     refused       refused              refused
 * others    refused  refused     refused       refused              as job.h
 *
 * HOLD means what of the array waits, now and later: which elements start is the
 * dispatcher's. SUBMIT of an element says that its task is made: it is not given another.
 * An array in which all has ended refuses everything, as does an element that ended with
 * the rest.
 *
 * The state of the array as a whole is not stored. It follows from the counts; the first
 * row that holds:
 *
 * done      every element is done
 * stopping  CANCEL has come
 * paused    an element is paused, and none is starting, running or stopping
 * running   an element is starting, running, paused, stopping or done
 * queued    otherwise
 *
 * Its result is that of the ended element with the largest exit code; of several with the
 * same code, of the one that has the earliest end; of several with the same end, of the
 * one with the lowest offset. The rest comes behind all others. So the order in which
 * events come does not count, and a replay gives the same result. The rest ends as one,
 * in one step, at the time of the CANCEL.
 *
 * Replay. The store gives the facts of an array in the order of its elements, and those
 * of the array first. So the CANCEL comes before the events of elements that began before
 * it. Between array_replay_begin() and array_replay_end() a CANCEL is only noted, and the
 * rest ends at array_replay_end().
 *
 * Invariants, from SUBMIT on, between two calls
 *   A-1  by_state counts every element once: its sum is total; the rest is queued.
 *   A-2  by_result counts every ended element once: its sum is by_state[JOB_DONE].
 *   A-3  rest = elements without a status, or 0 when the rest has ended.
 *   A-4  While rest > 0, `next` is the lowest offset in it.
 *   A-5  cancelled_usec != 0 outside a replay: rest == 0.
 *   A-6  worst and exit_code are of an element that has ended; zeroes: none has.
 *
 * Not stored: a list of the rest. Elements leave it in order but for those that are
 * cancelled one by one, and `next` passes over these. */
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
    uint64_t cancelled_usec; /* from CANCEL, EXPIRED or DEPENDENCY of the array; 0: none
                              * has come */
    uint64_t started_usec;   /* the earliest start of an attempt; 0: none */
    uint64_t ended_usec;     /* the latest end of an element; 0: none */
    bool retry_lost;         /* from SUBMIT */
    bool has_begun;          /* an element has, or may have (job_has_begun()) */
    uint8_t held;            /* enum job_held */
    uint8_t rest_result;     /* enum job_result that the rest ended with */
    struct job_cause cause;  /* of DEPENDENCY */
    bool replays;
    uint16_t edited, edits, holds; /* as of a job_status */
    int exit_code;
    struct job_status worst;
    uint64_t worst_offset;
    struct job_status **chunks; /* ARRAY_CHUNK each; NULL until needed. NULL: counts
                                 * alone */
};

/* What an event did, for the counters and news of the caller. */
struct array_effects {
    uint64_t moved;   /* elements that went from one state to the other */
    uint8_t from, to; /* enum job_state; may be the same */
    uint8_t result;   /* enum job_result of these, if they are done */
    bool over;        /* it was the end of the array as a whole */
};

/* Returns new; total is at least 1. NULL: no memory. */
struct array *array_new(uint64_t total);
/* The same without room for elements: for an array that has ended, of which counts are
 * kept in memory and the rest in the store. Nothing may be asked about its elements. */
struct array *array_new_counts(uint64_t total);
void array_free(struct array *a); /* NULL allowed */
/* Makes room for the status of an element. 0; -ENOMEM. */
int array_reserve(struct array *a, int64_t offset);

/* Applies an event to the array (ARRAY_WHOLE) or to an element, for which there is room.
 * Of an element's SUBMIT only the type counts: time and policy are the array's. 0 with
 * *ret_effects; -EPROTO: the event is not allowed, and nothing has changed. */
int array_update(struct array *a, int64_t item, const struct job_event *ev,
                 struct array_effects *ret_effects);
void array_replay_begin(struct array *a); /* before SUBMIT */
void array_replay_end(struct array *a);

/* Folding: the facts of an array that has ended, in the order in which the store gives
 * them, into counts alone. Of the elements there is one status at a time. An element
 * whose facts do not say how it ended, as may be where memory was missing for its last
 * one, counts as lost. */
struct array_fold {
    struct array *array;       /* after its SUBMIT; it needs no room for elements */
    int64_t item;              /* of the latest event; ARRAY_WHOLE: none has come */
    struct job_status element; /* after it */
};

void array_fold_begin(struct array_fold *f, struct array *a);
/* The next event, of the array or of an element. 0; -EPROTO. */
int array_fold_event(struct array_fold *f, int64_t item, const struct job_event *ev);
/* That was all: the array is done. */
void array_fold_end(struct array_fold *f);
/* The status of an element before its first fact, after the last one, and at the end of
 * one without facts. */
void array_element_begin(const struct array *a, struct job_status *ret);
struct job_status array_ended_as(const struct job_status *st);
struct job_status array_ended_without(const struct array *a);
/* The rest has ended as EXPIRED or DEPENDENCY: so do elements that wait. */
bool array_is_doomed(const struct array *a);
/* It has ended by CANCEL: elements that wait end, and those that run are to. */
bool array_is_cancelled(const struct array *a);
/* Of one whose rest has ended by an event: that of an element that waits. */
struct job_event array_end_event(const struct array *a, uint64_t at_usec);

static inline bool array_is_counts(const struct array *a)
{
    return !a->chunks;
}

static inline bool array_done(const struct array *a)
{
    return a->by_state[JOB_DONE] == a->total;
}

/* Elements that are starting, running, paused or stopping. */
static inline uint64_t array_busy(const struct array *a)
{
    return job_count_busy(a->by_state);
}

static inline uint64_t array_failed(const struct array *a)
{
    return a->by_state[JOB_DONE] - a->by_result[JOB_RESULT_SUCCESS] -
           a->by_result[JOB_RESULT_CANCELLED];
}

/* The state of the array as a whole. */
enum job_state array_state(const struct array *a);
/* The array as a whole. Before its end, what the status says of a process is that of the
 * worst element so far. */
struct job_status array_status(const struct array *a);
/* An element, also one without a status of its own. */
struct job_status array_element(const struct array *a, int64_t offset);
/* The element's own status; NULL: it has none. */
static inline const struct job_status *array_own(const struct array *a, int64_t offset)
{
    const struct job_status *chunk = a->chunks[(uint64_t)offset / ARRAY_CHUNK];
    const struct job_status *st = chunk ? &chunk[(uint64_t)offset % ARRAY_CHUNK] : NULL;

    return st && st->submitted_usec ? st : NULL;
}
/* The first element that has a status of its own here, at or behind *offset, which
 * becomes its offset. NULL: there is none. */
const struct job_status *array_find_own(const struct array *a, int64_t *offset);
/* Likewise. Takes one off *looks for each element that it looks at, and for each chunk
 * that it passes over; NULL also if none is left before that. */
const struct job_status *array_find_own_within(const struct array *a, int64_t *offset,
                                               unsigned *looks);
/* The element to start next: the first of the rest. ARRAY_WHOLE: the rest is empty. */
int64_t array_next(const struct array *a);

#endif

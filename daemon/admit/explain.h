/* Why a waiter does not start: from what admission knows now, never from a log.
 *
 * One that is not eligible has a reason for each of its conditions, and one if its queue
 * is paused; one in the line has one: what it is short of first, or its turn. Which job
 * has a lock is the caller's to add. What belongs to other users is a number: no id, name
 * or time of theirs is in a reason. */
#ifndef VOLTD_ADMIT_EXPLAIN_H
#define VOLTD_ADMIT_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"

struct admission;
struct admission_times;
struct condition;
struct resource;
struct waiter;

enum reason_kind {
    REASON_CONDITION,
    REASON_PAUSED,     /* its queue is */
    REASON_QUEUE,      /* its queue has all slots that it may have */
    REASON_USER,       /* its user has, in this queue */
    REASON_ARRAY,      /* as many elements run as may at once */
    REASON_IMPOSSIBLE, /* it wants more than there is */
    REASON_RATE,
    REASON_LOCK, /* or semaphore */
    REASON_SLOTS,
    REASON_KEPT, /* what is free is kept for other queues */
    REASON_TURN, /* all fits: it is looked at next, or soon */
};

struct reason {
    enum reason_kind kind;
    const struct condition *condition; /* CONDITION */
    const struct resource *resource;   /* IMPOSSIBLE, RATE, LOCK */
    const char *queue; /* PAUSED, QUEUE, USER, SLOTS, KEPT: its name, or NULL */
    uint64_t wanted;
    bool exclusive;          /* LOCK: not shared */
    uint64_t used, capacity; /* of a rate: missing tokens, of so many */
    uint64_t others;         /* of what is used, by other users */
    uint64_t in_front;       /* waiters that are asked before it */
    bool is_next;            /* TURN: nothing is in front */
    bool is_left;            /* RATE, LOCK: it would fit, and is left to one in front */
    bool reserved;           /* it is not passed any more */
    uint64_t usec;           /* RATE: until there are enough tokens */
    bool alone;              /* ARRAY, RATE: it lacks nothing else, as far as is known */
    int64_t first_usec; /* RATE: when there are enough for the first of those that are in
                         * front, or for it: from now on; ... */
    uint64_t step_usec; /* ... and how much later for each behind that */
    struct {
        uint64_t capacity, used, own;
    } slots; /* RATE: of the machine; of these, in use, and by its user */
    uint32_t looks;          /* what was looked at to count these */
    struct job_key holder;   /* LOCK: one of its user's that has it; id 0: not known; */
    bool is_lease;           /* which is no job, but a process outside of them; */
    pid_t holder_pid;        /* 0: not known */
    bool is_left_behind;     /* which has ended, but processes of it live; */
    uint64_t held_usec;      /* for how long it has it */
};

#define REASON_TEXT   160
#define EXPLAIN_LOOKS 400 /* at most, for a reason; and one more */

/* What one in the line waits for, at little cost: those that have the same wait for the
 * same. */
struct explain_brief {
    enum reason_kind kind;
    const struct resource *resource; /* IMPOSSIBLE, RATE, LOCK */
    uint32_t queue; /* PAUSED, QUEUE, USER, KEPT: its number (job_queue.h) */
};
struct explain_brief explain_brief(struct admission *a, const struct waiter *w,
                                   uint64_t now);
/* Not 0. Of those with one resource, or none, the same for those that wait for the
 * same. */
uint32_t explain_group(const struct explain_brief *brief);
/* What it is called, of one in the line. */
enum job_wait explain_wait(enum reason_kind kind, bool in_front);
/* At most n; those of conditions in no order. Returns how many there are: 0: it does not
 * wait. */
size_t explain(struct admission *a, const struct waiter *w, uint64_t now,
               struct reason *ret, size_t n);
/* One line without an end, cut at size. */
void explain_text(const struct reason *r, const struct admission_times *now, char *ret,
                  size_t size);

#endif

/* Explains why a waiter does not start, by the present state of admission, never by a
 * log.
 *
 * A waiter that is not eligible has a reason for each condition, and another one if its
 * queue is paused. A waiter in the line has one reason: the first thing that it lacks, or
 * its turn. The caller adds which job has a lock. A reason shows of other users only
 * amounts: no id, name or time. */
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
    REASON_PAUSED,     /* its queue is paused */
    REASON_AWAY,       /* its user is away: no keeper can run its jobs */
    REASON_QUEUE,      /* its queue has all slots that it may have */
    REASON_USER,       /* its user has all slots that it may have in the queue */
    REASON_USER_ALL,   /* the same over all queues */
    REASON_ARRAY,      /* the limit of running elements of its array is reached */
    REASON_IMPOSSIBLE, /* its claim exceeds the capacity */
    REASON_RATE,
    REASON_LOCK, /* or semaphore */
    REASON_SLOTS,
    REASON_KEPT, /* free slots are set aside for other queues */
    REASON_TURN, /* all claims fit: it is tried next, or soon */
};

struct reason {
    enum reason_kind kind;
    const struct condition *condition; /* CONDITION */
    const struct resource *resource;   /* IMPOSSIBLE, RATE, LOCK */
    const char *queue; /* PAUSED, QUEUE, USER, SLOTS, KEPT: its name, or NULL */
    uint64_t wanted;
    bool exclusive;          /* LOCK: not shared */
    uint64_t used, capacity; /* for a rate: missing tokens, of its burst */
    uint64_t others;         /* part of `used` that is other users' */
    uint64_t in_front;       /* waiters that are tried before it */
    bool is_next;            /* TURN: no waiter is in front */
    bool is_left;            /* RATE, LOCK: it would fit, but is left to a waiter in
                              * front */
    bool reserved;           /* it has a reservation (standing.h) */
    uint64_t usec;           /* RATE: until there are enough tokens */
    bool alone;              /* ARRAY, RATE: it lacks nothing else, as far as known */
    int64_t first_usec;      /* RATE: from now, when there are enough tokens for the first
                         * waiter in front, or for it; ... */
    uint64_t step_usec;      /* ... and how much later for each further waiter */
    struct {
        uint64_t capacity, used, own;
    } slots;               /* RATE: of the machine; in use; in use by its user */
    uint32_t looks;        /* lanes and classes looked at to count this */
    struct job_key holder; /* LOCK: a holder of the same user; id 0: not known */
    bool is_lease;         /* the holder is a lease, not a job */
    pid_t holder_pid;      /* 0: not known */
    bool is_left_behind;   /* the holder has ended, but has processes left */
    uint64_t held_usec;    /* how long the holder has had the lock */
};

#define REASON_TEXT   160
#define EXPLAIN_LOOKS 400 /* at most, plus one, for a reason */

/* A reason at little cost, for a waiter in the line: equal waiters have equal briefs. */
struct explain_brief {
    enum reason_kind kind;
    const struct resource *resource; /* IMPOSSIBLE, RATE, LOCK */
    uint32_t queue; /* PAUSED, QUEUE, USER, KEPT: its number (job_queue.h) */
};
struct explain_brief explain_brief(struct admission *a, const struct waiter *w,
                                   uint64_t now);
/* Returns a number of the brief, not 0. Among briefs with the same resource, or none,
 * equal numbers mean equal reasons. */
uint32_t explain_group(const struct explain_brief *brief);
/* Returns the name of the reason for a waiter in the line. */
enum job_wait explain_wait(enum reason_kind kind, bool in_front);
/* Fills in at most n reasons; conditions come in no order. A waiter that is apart, such
 * as an array whose elements all back off, has its conditions as well. Returns how many
 * reasons there are; 0: it does not wait. */
size_t explain(struct admission *a, const struct waiter *w, uint64_t now,
               struct reason *ret, size_t n);
/* Writes the reason as one line without a newline, cut at size. */
void explain_text(const struct reason *r, const struct admission_times *now, char *ret,
                  size_t size);

#endif

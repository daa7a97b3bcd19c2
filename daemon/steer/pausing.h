/* Pausing jobs that run, and letting them go on. Lock held.
 *
 * PAUSE and RESUME are facts that count at once. What they mean to the processes is done
 * by the task of the attempt (job/attempt.h): its tree is frozen, or gets SIGSTOP, when
 * PAUSE is in the store, and SIGCONT when RESUME was posted; after a restart once more. A
 * step says -EAGAIN until that is so. A paused job keeps its slot and its claims. */
#ifndef VOLTD_STEER_PAUSING_H
#define VOLTD_STEER_PAUSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;
struct tx;

struct pausing { /* zero-initialised before the first step, but for the next four */
    bool on;     /* pause; else resume */
    uid_t by;    /* the account that asks for it */
    size_t looks, facts; /* elements that a step may look at, facts that it may append */
    bool rests;          /* after -EAGAIN: its tasks are at it */
    bool any;            /* it, or an element, has taken it */
    int64_t at;          /* private, with the next: the next element */
    bool waits;          /* an element is not so far */
};

/* A step of a job, an element, or an array, of which those elements take it that run, or
 * are paused. 0: its processes stand still, or run; -EAGAIN: another step is due;
 * -EALREADY: it has ended; -EBUSY: it does not run; -ESRCH: it is not paused;
 * -EOPNOTSUPP: it has no process; -ENOMEM, or what else the store refuses it with. */
int pausing_step(struct tx *tx, struct job *job, int64_t offset, struct pausing *p);

#endif

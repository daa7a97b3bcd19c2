/* Pausing and resuming running jobs. Lock held.
 *
 * PAUSE and RESUME are facts that count at once. The task of the attempt (job/attempt.h)
 * applies them to the processes: when PAUSE is durable, it freezes the tree or sends
 * SIGSTOP; when RESUME was posted, it sends SIGCONT; both again after a restart. Until
 * then a step returns -EAGAIN. A paused job keeps its slot and its claims. */
#ifndef VOLTD_STEER_PAUSING_H
#define VOLTD_STEER_PAUSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct job;
struct tx;

struct pausing { /* zero-initialised before the first step, except the next two */
    bool on;     /* true: pause; false: resume */
    uid_t by;    /* the account that asks */
    bool rests;  /* after -EAGAIN: waits for tasks */
    bool any;    /* the job, or an element, was paused or resumed */
    int64_t at;  /* private, with the next: next element */
    bool waits;  /* an element is not done yet */
};

/* Does a step for a job, an element, or the running or paused elements of an array, of
 * these until core_is_used_up():
 *   0: its processes are stopped, or run; or it has ended since the request was fulfilled
 *   -EAGAIN: another step is due
 *   -EALREADY: it had ended before
 *   -EBUSY: it does not run; -ESRCH: it is not paused
 *   -EOPNOTSUPP: it has no process
 *   -ENOMEM, or another error of the store */
int pausing_step(struct tx *tx, struct job *job, int64_t offset, struct pausing *p);

#endif

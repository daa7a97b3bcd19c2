/* Cancelling a job, an array or an element. Lock held. */
#ifndef VOLTD_CORE_CANCEL_H
#define VOLTD_CORE_CANCEL_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct tx;

/* A job, an array as a whole (what of it has not started ends), or an element (`item`).
 * 0: it is asked to end, now or before; -EALREADY: it has ended; -ENOMEM, -ESHUTDOWN (its
 * task has gone with the runtime): nothing has happened. */
int core_cancel(struct tx *tx, struct job *job, int64_t item);
/* Elements that have a status of their own, from *at on: at most so many, and until this
 * hold of the lock has appended `facts` facts, or two more. 0: there are no more;
 * -EAGAIN; -ENOMEM: that at *at is not cancelled. */
int core_cancel_elements(struct tx *tx, struct job *job, int64_t *at, size_t looks,
                         size_t facts);

#endif

/* Cancels a job, an array or an element. Lock held in all functions. */
#ifndef VOLTD_CORE_CANCEL_H
#define VOLTD_CORE_CANCEL_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct tx;

/* Cancels a job, the elements of an array that have not started, or one element (`item`).
 * Returns
 *   0            the end is requested, now or by an earlier call
 *   -EALREADY    the job has ended
 *   -ENOMEM      nothing has happened
 *   -ESHUTDOWN   nothing has happened: the task ended with the runtime */
int core_cancel(struct tx *tx, struct job *job, int64_t item);
/* Cancels elements that have a status of their own, from *at on, until
 * core_is_used_up(). Returns
 *   0         no such elements are left
 *   -EAGAIN   elements are left
 *   -ENOMEM   the element at *at is not cancelled */
int core_cancel_elements(struct tx *tx, struct job *job, int64_t *at);

#endif

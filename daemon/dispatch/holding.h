/* Holds jobs that may be about to start, and releases them. Lock held in all functions.
 *
 * A queued job is held at once, even with a slot that it has not begun to use. A job that
 * starts early (early_start.h) first gets the condition, which takes it out of the line.
 * Its task is then woken, and either defers it (DEFERRED, then HOLD) or finds that it
 * runs. For an array, the elements that want a slot are held; those that start early are
 * deferred after its HOLD. */
#ifndef VOLTD_DISPATCH_HOLDING_H
#define VOLTD_DISPATCH_HOLDING_H

#include <stdbool.h>
#include <sys/types.h>
#include "daemon/admit/condition.h"

struct job;
struct tx;

/* Holds a job, or an array as a whole. `again`: a call after -EAGAIN. Returns
 *   0           held
 *   -EAGAIN     its task decides
 *   -EALREADY   it has ended
 *   -EBUSY      it has started, or nothing of it waits
 *   -EDQUOT     its user has held it JOB_HOLDS_MAX times
 *   -ENOMEM, or another error of the store */
int holding_job(struct tx *tx, struct job *job, const struct hold *by, bool again);
/* Releases a job. Returns
 *   0           released
 *   -ESRCH      it is not held
 *   -EALREADY   it has ended
 *   -EPERM      an admin holds it, and the caller is none
 *   -ENOMEM, or another error of the store */
int holding_release(struct tx *tx, struct job *job, uid_t by, bool is_admin);

#endif

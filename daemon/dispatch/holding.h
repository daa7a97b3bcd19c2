/* Holding jobs that may be about to start, and releasing them. Lock held in all
 * functions.
 *
 * What is queued is held at once, also with a slot that it has not begun to use. What
 * starts early (early_start.h) gets the condition first, which takes it out of the line,
 * and is called back; its task defers it, which is DEFERRED and then HOLD, or finds that
 * it runs. Of an array the elements that want a slot are held; those that start early are
 * deferred behind its HOLD. */
#ifndef VOLTD_DISPATCH_HOLDING_H
#define VOLTD_DISPATCH_HOLDING_H

#include <stdbool.h>
#include <sys/types.h>
#include "daemon/admit/condition.h"

struct job;
struct tx;
struct work;

/* A job, or an array as a whole. `again`: after an -EAGAIN. 0: it is held; -EAGAIN: its
 * task decides; -EALREADY: it has ended; -EBUSY: it has started, or nothing of it waits;
 * -EDQUOT: its user has held it JOB_HOLDS_MAX times; -ENOMEM, or what else the store
 * refuses it with. */
int holding_job(struct tx *tx, struct job *job, const struct hold *by, bool again);
/* 0: it is released; -ESRCH: it is not held; -EALREADY: it has ended; -EPERM: by an
 * admin, and this is none; -ENOMEM and the like. */
int holding_release(struct tx *tx, struct job *job, uid_t by, bool is_admin);
/* A work that starts early cannot go back to the queue: its job, unless it is an array,
 * is not held. */
void holding_refuse(struct work *w);

#endif

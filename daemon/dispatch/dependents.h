/* Jobs that wait for others (core/dependencies.h), when these have started or ended: what
 * is met is a fact first, and the job goes on waiting for the rest, or is in the line. */
#ifndef VOLTD_DISPATCH_DEPENDENTS_H
#define VOLTD_DISPATCH_DEPENDENTS_H

struct tx;

/* Lock held. 0: that was all; -EAGAIN: another hold of the lock is due; -ENOMEM, or the
 * store refuses it now. */
int dependents_run(struct tx *tx);

#endif

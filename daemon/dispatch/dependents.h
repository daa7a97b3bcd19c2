/* Jobs that wait for others (core/dependencies.h), once these have started or ended. A
 * met edge is a fact first; then the job waits for its other edges, or enters the
 * line. */
#ifndef VOLTD_DISPATCH_DEPENDENTS_H
#define VOLTD_DISPATCH_DEPENDENTS_H

struct tx;

/* Lock held. Decides due edges. Returns 0: done; -EAGAIN: work is left for another hold
 * of the lock; -ENOMEM: no memory, or the store refuses facts now. */
int dependents_run(struct tx *tx);

#endif

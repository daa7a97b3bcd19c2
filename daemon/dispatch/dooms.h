/* Ends jobs that can no longer start (admit/doom.h).
 *
 * Either a job had to start by a date: a job that has a slot or starts early counts as
 * started, but is looked at again in case it returns to the queue; for an array the first
 * element that starts counts. Or a job waits for another that did not start or end as
 * required: such a job was never in the line. */
#ifndef VOLTD_DISPATCH_DOOMS_H
#define VOLTD_DISPATCH_DOOMS_H

struct tx;

/* Lock held. Ends doomed jobs. Returns 0: done; -EAGAIN: work is left for another hold of
 * the lock; -ENOMEM: no memory, or the store refuses facts now. */
int dooms_run(struct tx *tx);

#endif

/* Jobs that can start no more end (admit/doom.h).
 *
 * Those that had to start by a date: one that has its slot, or that starts early, has
 * started, unless it goes back to the queue: it is looked at again. Of an array the first
 * element that starts counts. And those that wait for a job that did not end, or start,
 * as it had to: they have never been in the line. */
#ifndef VOLTD_DISPATCH_DOOMS_H
#define VOLTD_DISPATCH_DOOMS_H

struct tx;

/* Lock held. Ends those that are doomed. 0: that was all; -EAGAIN: another hold of the
 * lock is due; -ENOMEM, or the store refuses it now. */
int dooms_run(struct tx *tx);

#endif

/* What a job is to have by its state.
 *
 * job_act() looks at the state and at what the job has, never at what has happened, and
 * makes what is missing: called twice, it does nothing the second time. Whatever changes
 * a job from outside its task ends with it: submission, a cancel, and recovery, once for
 * each job.
 *
 *   state                              what it has
 *   queued, takes a slot               it waits, in the line or on a condition; no task
 *   queued otherwise                   a task; it waits if it has a condition
 *   starting, running, stopping        a task; one that is made here adopts what an
 *                                      earlier voltd began: kinds.h
 *   done                               no place in the line; once its tasks have gone it
 *                                      is among the ended ones
 *
 * A task that waits is woken: it sees itself that it is to start, or to stop. What it
 * does to its process (signals, limits, the end) is in the table of its attempt:
 * job/attempt.h. */
#ifndef VOLTD_CORE_ACT_H
#define VOLTD_CORE_ACT_H

#include <stdint.h>

struct job;
struct tx;

/* Lock held. Of a job or array (NO_OFFSET), or of an element with a status of its own. A
 * new task, one at most, is in tx->spawn. 0; -ENOMEM: it should have a task. */
int job_act(struct tx *tx, struct job *job, int64_t item);

#endif

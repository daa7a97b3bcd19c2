/* Brings jobs to what their states need.
 *
 * job_act() reads the state and what the job has, and makes what is missing. Events play
 * no part, so a second call does nothing. Every change of a job from outside its task
 * ends with this call: submission, cancel, and recovery (once for each job).
 *
 *   state                              what the job has
 *   queued, takes a slot               a waiter, in the line or on a condition; no task
 *   queued otherwise                   a task; a waiter too if the job has a condition
 *   starting, running, stopping        a task; a task made here adopts what an earlier
 *                                      voltd began (kinds.h)
 *   done                               no place in the line; once its tasks are freed, a
 *                                      place in core.ended
 *
 * A waiting task is woken and finds out itself whether it must start or stop. The
 * attempt's table says what the task does to its process (signals, limits, end):
 * job/attempt.h. */
#ifndef VOLTD_CORE_ACT_H
#define VOLTD_CORE_ACT_H

#include <stdint.h>

struct job;
struct tx;

/* Lock held. Brings a job or array (NO_OFFSET), or an element with a status of its own,
 * to what its state needs. Adds at most one new task to tx->spawn. Returns 0, or -ENOMEM:
 * a task is needed and could not be made. */
int job_act(struct tx *tx, struct job *job, int64_t item);

#endif

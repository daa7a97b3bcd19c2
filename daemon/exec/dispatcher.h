/* The dispatcher: what a change means to other jobs. core_finish() runs it once, for at
 * most JOBS_SLICE jobs in each of three steps and MANAGER_CANCEL_FACTS facts; what is
 * left is for its own task, a portion a poll. What gives it something to do: a
 * submission, a job that ends or gives its slot back, a reload, the end of a job that
 * another one replaces, and its task.
 *
 *   1. Ended jobs that are too many leave memory, the oldest first.
 *   2. The agenda (agenda.h).
 *   3. Free slots go to those that wait, in the order of the queue.
 *
 * Without memory for one of these it stops, and its task runs it again after a rest. */
#ifndef VOLTD_EXEC_DISPATCHER_H
#define VOLTD_EXEC_DISPATCHER_H

#include "daemon/exec/tx.h"

extern const struct dispatcher_ops dispatcher_ops;

/* From now on changes are dispatched; with a task that lives as long as the runtime. 0;
 * -ENOMEM. */
int dispatcher_start(struct manager *m);

#endif

/* The dispatcher: what a change means to other jobs. Each dispatch_finish() runs it once,
 * for at most JOBS_SLICE jobs in each of these steps, and QUOTA_FACTS facts. Its own task
 * does the rest, a portion a poll.
 *
 *   1. Ended jobs that are too many leave memory, the oldest first, when a barrier of the
 *      store says that their ends are durable.
 *   2. The agenda (agenda.h).
 *   3. Jobs that wait for others that have started or ended (dependents.h), and jobs
 *      that can no longer start (dooms.h).
 *   4. Rates that are full and unused leave the store.
 *   5. Free slots are granted in the order of the line (admit/admission.h), leases get
 *      their claims, and the next in the line start early (early_start.h).
 *   6. The timer (timer.h) is woken if something is due earlier than before.
 *
 * If memory is short in a step, the dispatcher stops, and its task runs it again after a
 * rest. */
#ifndef VOLTD_DISPATCH_DISPATCHER_H
#define VOLTD_DISPATCH_DISPATCHER_H

#include "daemon/core/tx.h"

/* Lock held. Runs a portion. */
void dispatcher_run(struct tx *tx);

/* Dispatches changes from now on, and starts the task, which lives as long as the
 * runtime. Returns 0 or -ENOMEM. */
int dispatcher_start(struct core *core);

#endif

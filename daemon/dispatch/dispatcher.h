/* The dispatcher: what a change means to other jobs. Each dispatch_finish() runs it once,
 * for at most JOBS_SLICE jobs in each of these steps and CORE_FACTS facts; what is left
 * is for its own task, a portion a poll.
 *
 *   1. Ended jobs that are too many leave memory, the oldest first.
 *   2. The agenda (agenda.h).
 *   3. Jobs that wait for others that have started or ended (dependents.h), and those
 *      that can start no more (dooms.h).
 *   4. Rates that are full and unused leave the store.
 *   5. Free slots go to those that wait, in the order of the line (admit/admission.h),
 *      leases get what they claim, and the next of the line start early (early_start.h).
 *   6. The timer (timer.h) hears of what is due earlier than before.
 *
 * Without memory for one of these it stops, and its task runs it again after a rest. */
#ifndef VOLTD_DISPATCH_DISPATCHER_H
#define VOLTD_DISPATCH_DISPATCHER_H

#include "daemon/core/tx.h"

/* Lock held: a portion. */
void dispatcher_run(struct tx *tx);

/* From now on changes are dispatched; with a task that lives as long as the runtime. 0;
 * -ENOMEM. */
int dispatcher_start(struct core *core);

#endif

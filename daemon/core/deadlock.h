/* Finds waits inside a holder that could never end.
 *
 * A job, or the command of a lease, that runs volt-lock or waits for jobs keeps what it
 * holds until that wait ends. The wait may depend on others, which wait themselves:
 *
 *   a lease               for holders of the lock, and for waiters before it in the line
 *   Wait                  for each of its jobs
 *   a queued job          for holders of its locks, as a lease does, and for its
 *                         antecedents; an element also for the limit of its array
 *   a job that has begun  for what waits inside it
 *
 * If any of these leads back to the asking call, or to itself, the wait would never end.
 * A semaphore is part of a circle only if the other holders' permits are not enough, the
 * limit of an array only if no element that has begun may end. A lease asked for inside a
 * holder goes before all others in the line.
 *
 * An edit of `after` or of claims may close such a circle. The search then treats the job
 * as if it waited for itself.
 *
 * The search sees only one user: locks have owners, and what root waits for of others is
 * not followed. Timeouts that would end a wait are ignored. Later waits and edits are
 * checked when they come. A job submitted or moved to the front of a lock's line is not
 * checked.
 *
 * Bounds: DEADLOCK_LOOKS jobs, claims, elements, leases and calls (skipped chunks and
 * words of elements count as one each), and DEADLOCK_STEPS from one to the next; a longer
 * circle is not found. For each possible blocker, all of the user's leases, holders of
 * locks and calls inside are looked at. Lock held in all functions. */
#ifndef VOLTD_CORE_DEADLOCK_H
#define VOLTD_CORE_DEADLOCK_H

#include <stdbool.h>
#include <volt/error.h>

struct core;
struct job;
struct lease;
struct inner_wait;

#define DEADLOCK_LOOKS 10000
#define DEADLOCK_STEPS 32

/* Checks a lease, or a call of Wait, that does not wait yet. Returns true if it would
 * wait for ever; *ret says why. */
bool deadlock_of_lease(struct core *core, const struct lease *l, struct volt_error *ret);
bool deadlock_of_wait(struct core *core, const struct inner_wait *n,
                      struct volt_error *ret);
/* Checks an edited job as it is to be: not in the table, with its new claims and
 * conditions. */
bool deadlock_of_edit(struct core *core, const struct job *job, struct volt_error *ret);

#endif

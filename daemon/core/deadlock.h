/* Whether what is about to wait inside a holder could ever go on.
 *
 * A job, or the command of a lease, that runs volt-lock or waits for jobs there has what
 * it has until it goes on. So what is asked for there waits through others, each of which
 * waits itself:
 *
 *   a lease               for what has the lock, and for what is before it in the line
 *   Wait                  for each of its jobs
 *   a job that is queued  likewise for the locks that it claims, for the jobs that it is
 *                         to start after, and an element for the limit of its array
 *   what has begun        for what waits inside it
 *
 * If anything that one waits for leads back to what is asked for, or to itself, it would
 * wait for ever. A semaphore is part of it only if the permits of the others are not
 * enough, the limit of an array only if no element that has begun may end. A lease that
 * is asked for inside of what has something goes before all others in the line.
 *
 * An edit of what a job is to start after, or claims, may close such a circle: it is
 * asked about as if the job waited for itself.
 *
 * Nothing of other users is part of it: locks have owners, and what root waits for of
 * others is not looked at. Nor is a time that would end it, of a timeout. What comes
 * later is looked at when it is about to wait itself, or is edited; a job that is
 * submitted, or moved, before others in the line of a lock meanwhile is not.
 *
 * Looks at DEADLOCK_LOOKS jobs, claims, elements, leases and calls at most, over
 * DEADLOCK_STEPS of them from one to the next; what is not found by then is not found.
 * Chunks and words of elements that are passed over count as one each. All that there is
 * of the user's leases, holders of locks and calls inside is looked at for each that may
 * hold something up. Lock held. */
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

/* Of a lease, or of a call of Wait, that does not wait yet. True: *ret says by what. */
bool deadlock_of_lease(struct core *core, const struct lease *l, struct volt_error *ret);
bool deadlock_of_wait(struct core *core, const struct inner_wait *n,
                      struct volt_error *ret);
/* Of a job as it is to be: it has its claims, and the conditions that count from now on,
 * and is not in the table. */
bool deadlock_of_edit(struct core *core, const struct job *job, struct volt_error *ret);

#endif

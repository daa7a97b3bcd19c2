/* Claims of jobs beside their slots: locks, semaphores and rates of the submitter
 * (admit/named.h). Lock held in all functions.
 *
 * The spec names the claims. Admission has them from submission until no process of the
 * job is left. A new semaphore gets the capacity that its first claim names, or one
 * permit. That capacity is stored with the spec, so the same jobs make the same
 * semaphores after a restart. A restart refuses no job: if another job has since made
 * something else of the name, that one counts. */
#ifndef VOLTD_CORE_CLAIMS_H
#define VOLTD_CORE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>
#include "daemon/job/spec.h"

struct admission_ask;
struct claim;
struct core;
struct job;
struct store_commit;
struct store_fact;
struct store_loaded_resource;
struct tx;
struct waiter;

/* Does admission_assign() for the job, with its claims. fresh: the job is being
 * submitted; the capacities of its semaphores are written into its spec, which no other
 * thread has seen. Returns 0 or -ENOMEM; if fresh, also -EINVAL with the reason: the
 * claims can never be granted, or not as they are written. */
int claims_assign(struct core *core, struct job *job, struct admission_ask *ask,
                  uint64_t rank, bool fresh, struct volt_error *err);

/* Does the same for one claim of a lease, which needs no slot; `wants` has its user and
 * priority. Writes the capacity of the semaphore into the claim. */
int claims_assign_one(struct core *core, const struct admission_ask *wants,
                      struct waiter *w, uint64_t rank, struct job_claim *claim,
                      bool fresh, struct volt_error *err);

/* Sets the permits of the user's semaphore, which then stays even if unused; makes it if
 * the name is free. Permits in use are not taken away. Sets up the commit. *ret_made: the
 * name was free. Nothing changes on errors:
 *   -EEXIST   the name is in use as a lock
 *   -EDQUOT   too many names
 *   -ENOMEM, or another error of the store */
int claims_resize(struct tx *tx, uid_t uid, const char *name, uint64_t capacity,
                  struct store_commit *commit, bool *ret_made);
/* Forgets a size that was set, or what was spent of a rate; an unused name is freed.
 * Returns -ENOENT: nothing was set or spent; -EBUSY: a job claims it; or as
 * claims_resize(). */
int claims_reset(struct tx *tx, uid_t uid, const char *name, struct store_commit *commit);
/* Replays a stored semaphore or rate; now is of CLOCK_BOOTTIME. Returns 0 or -ENOMEM. */
int claims_replay(struct core *core, const struct store_loaded_resource *l, uint64_t now);

/* Returns the mode of a claim on a named resource, as it is now. */
enum job_claim_mode claims_mode(const struct claim *claim);
/* Returns whether the job claims the lock or semaphore of this name. */
bool claims_has(const struct job *job, const char *name);

/* Fills in facts, for the group of STARTING: how full each rate that the job claims is at
 * `now` (CLOCK_BOOTTIME). Returns their number, at most JOB_CLAIMS_MAX. */
size_t claims_spent(const struct job *job, uint64_t now, struct store_fact *facts);
/* Stores that tokens went back to the rates that the job claims, after a stored start
 * that did not happen. */
void claims_keep_refund(struct tx *tx, const struct job *job, uint64_t now);
/* Forgets rates that are full and unused, within QUOTA_FACTS. Returns -EAGAIN: more are
 * left. */
int claims_forget_gone(struct tx *tx);

#endif

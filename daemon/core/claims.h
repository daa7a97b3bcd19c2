/* What a job claims beside its slot: locks, semaphores and rates of its submitter
 * (admit/named.h). Lock held in all functions.
 *
 * The spec says how; admission has it from the time when the job is taken until nothing
 * of the job is left. A semaphore that is new has the capacity that the first claim on it
 * says, or one permit. What it had when the job was taken is kept with the spec: after a
 * restart the same jobs make the same semaphores. None of them is refused then: where
 * another job has made something else of a name meanwhile, that counts. */
#ifndef VOLTD_CORE_CLAIMS_H
#define VOLTD_CORE_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/error.h>

struct admission_ask;
struct core;
struct job;
struct job_claim;
struct store_commit;
struct store_fact;
struct store_loaded_resource;
struct tx;
struct waiter;

/* As admission_assign() of the job, with its claims. fresh: it is being submitted, and
 * its spec, which nothing else has seen, is told what its semaphores have. 0; -ENOMEM;
 * fresh only: -EINVAL, with the reason: it can never have them, or not as they are. */
int claims_assign(struct core *core, struct job *job, struct admission_ask *ask,
                  uint64_t rank, bool fresh, struct volt_error *err);

/* The same for one claim that is no job's, and needs no slot; what it wants beside that.
 * The claim is told what the semaphore has. */
int claims_assign_one(struct core *core, const struct admission_ask *wants,
                      struct waiter *w, uint64_t rank, struct job_claim *claim,
                      bool fresh, struct volt_error *err);

/* The user's semaphore has so many permits from now on, and stays, whether it is used or
 * not; one that is not there is made. What is taken beyond that is left. Its commit is
 * set up. *ret_made: nothing had the name. 0; -EEXIST: the name is in use as a lock;
 * -EDQUOT: names; what the store refuses it with, or -ENOMEM: nothing has changed. */
int claims_resize(struct tx *tx, uid_t uid, const char *name, uint64_t capacity,
                  struct store_commit *commit, bool *ret_made);
/* What was set, or spent of a rate, is forgotten: it goes. 0; -ENOENT: nothing was;
 * -EBUSY: a job claims it; as above. */
int claims_reset(struct tx *tx, uid_t uid, const char *name, struct store_commit *commit);
/* What an earlier voltd has kept of that, and of rates; now is of CLOCK_BOOTTIME. 0;
 * -ENOMEM. */
int claims_replay(struct core *core, const struct store_loaded_resource *l, uint64_t now);

/* Whether the job claims the lock or semaphore of this name. */
bool claims_has(const struct job *job, const char *name);

/* With STARTING: what is spent by now, of CLOCK_BOOTTIME, of the rates that the job
 * claims. Returns how many facts, JOB_CLAIMS_MAX at most. */
size_t claims_spent(const struct job *job, uint64_t now, struct store_fact *facts);
/* Tokens went back to the rates that the job claims, as a start that the store knows was
 * none: it learns that. */
void claims_keep_refund(struct tx *tx, const struct job *job, uint64_t now);
/* Rates that are full, and that nothing uses, are forgotten: some. -EAGAIN: more are. */
int claims_forget_gone(struct tx *tx);

#endif

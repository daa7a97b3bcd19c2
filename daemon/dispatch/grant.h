/* Which job in the line gets a slot, and what the slot does to it.
 *
 * A waiting job has no task, unless it starts early or was deferred; its slot makes the
 * task. For an array each slot makes the task of one element. Elements that wait with a
 * task (early or deferred) come first, in order of offset. */
#ifndef VOLTD_DISPATCH_GRANT_H
#define VOLTD_DISPATCH_GRANT_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct job;
struct lease;
struct tx;
struct work;

/* --- lock held ---------------------------------------------------------------------- */
/* Returns the next job whose claims fit. *ret_work: the work of the job or element; NULL:
 * to be made. Looks at no more than *budget classes and deducts them. Returns NULL if:
 *   a lease is next: *ret_lease
 *   nothing fits, or *budget is 0; *ret_lease is NULL
 * After voltd is closed nothing is granted, and early starts are queued again. */
struct job *grant_next(struct core *core, struct work **ret_work,
                       struct lease **ret_lease, unsigned *budget);
/* Grants what grant_next() returned. False: no memory. */
bool grant_give(struct tx *tx, struct job *job, struct work *w);
/* Grants a slot to a job without claims that is entering the table and has its work, if
 * one is free now. False: the job has to wait. */
bool grant_try(struct core *core, struct work *w);
/* Gives the work a slot, even if none is free, and ends its wait. */
void grant_take(struct core *core, struct work *w);
/* Restore the slot and claims of a work that began before a restart, or, if it has ended,
 * only the claims that its processes still have. */
void grant_recover(struct core *core, struct work *w);
void grant_recover_claims(struct core *core, struct work *w);
/* Takes back the work's slot; it waits again at its old place in the line. */
void grant_return(struct core *core, struct work *w);
/* Does the same for a work that an earlier voltd began to start. It starts early again,
 * and keeps the tokens that its STARTING spent. */
void grant_ask_anew(struct core *core, struct work *w);
#define NEVER_RAN UINT64_MAX
/* Ends a work that ran for ran_usec, and releases its slot, if any. NEVER_RAN: the slot
 * was not used, and its claims are released too. */
void grant_end(struct core *core, struct work *w, uint64_t ran_usec);
/* Gives back the tokens that the work's STARTING spent under an earlier voltd. Has no
 * effect on other jobs. */
void grant_refund(struct core *core, struct work *w);
/* Releases the claims of a work, if any: no process of it is left. */
void grant_release_locks(struct core *core, struct work *w);
/* Makes the work want a slot, in its job's place in the line. */
void grant_wait(struct core *core, struct work *w);
/* Does the same after usec, for a work without a place. */
void grant_rest(struct core *core, struct work *w, uint64_t usec);
/* Makes the work want no slot any more. */
void grant_leave(struct core *core, struct work *w);
/* Sets whether the work starts early. */
void grant_set_early(struct core *core, struct work *w, bool early);
/* Returns a new task for the next element of the array's rest, to be spawned by tx; it
 * waits for a slot if it needs one. NULL: no memory. */
struct work *grant_element(struct tx *tx, struct job *job);

#endif

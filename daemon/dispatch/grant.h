/* Which job of the line gets a slot, and what the slot does to it.
 *
 * A job that waits has no task, unless it starts early or has been deferred; a slot makes
 * its task. Of an array each slot makes the task of one element; elements that wait with
 * a task (they start early, or were deferred) come first, in order of their offsets. */
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
/* The job that gets what is free now, with its work, or that of its element; *ret_work
 * NULL: the task is still to be made. Once voltd is closed nothing gets anything: what
 * starts early is queued again. Looks at *budget things at most and takes those off.
 * NULL: it is a lease, in *ret_lease; or that is NULL, and *budget is 0, or nothing
 * fits. */
struct job *grant_next(struct core *core, struct work **ret_work,
                       struct lease **ret_lease, unsigned *budget);
/* What is free for what grant_next() has returned. False: no memory. */
bool grant_give(struct tx *tx, struct job *job, struct work *w);
/* The same for a job without claims, on its way into the table, that need not wait, with
 * its work. False: it has to wait. */
bool grant_try(struct core *core, struct work *w);
/* The work has a slot and waits no longer; also beyond their number. */
void grant_take(struct core *core, struct work *w);
/* The work began before a restart: it has its slot and its claims, or of these, as it has
 * ended since, what its processes still have. */
void grant_recover(struct core *core, struct work *w);
void grant_recover_claims(struct core *core, struct work *w);
/* The work gives its slot back and waits for another one, where it was in the line. */
void grant_return(struct core *core, struct work *w);
/* The same of a work that starts, and has what it may have had before a restart. */
void grant_ask_anew(struct core *core, struct work *w);
#define NEVER_RAN UINT64_MAX
/* It is over, after it has run so long; its slot, if it has one, is free. NEVER_RAN: the
 * slot was not used, and its claims are free as well. */
void grant_end(struct core *core, struct work *w, uint64_t ran_usec);
/* What its STARTING, of an earlier voltd, has spent of rates goes back. Nothing happens
 * to others. */
void grant_refund(struct core *core, struct work *w);
/* No process of it is left; its claims, if it has any, are free. */
void grant_gone(struct core *core, struct work *w);
/* The work wants a slot, in the place of its job. */
void grant_wait(struct core *core, struct work *w);
/* The work, which has no place, wants a slot when so much time has passed: grant_wait()
 * then. */
void grant_rest(struct core *core, struct work *w, uint64_t usec);
/* The work wants no slot any more. */
void grant_leave(struct core *core, struct work *w);
/* The work starts early, or does not any more. */
void grant_set_early(struct core *core, struct work *w, bool early);
/* Returns the task of the next element of the array's rest, which waits for a slot if it
 * needs one; to be spawned by tx. NULL: no memory. */
struct work *grant_element(struct tx *tx, struct job *job);

#endif

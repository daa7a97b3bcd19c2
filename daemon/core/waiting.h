/* Which jobs wait for a slot: core's end of daemon/admit. Lock held in all functions.
 *
 * A waiting job is one waiter in the line. So is an array, however many of its elements
 * want a slot: elements of the rest, which have no task yet, and elements that have one
 * (elements.h). A job that starts early (dispatch/early_start.h) stays in the line until
 * it has its slot. A job that is no process waits only on a condition
 * (admit/condition.h), or while its queue is paused. */
#ifndef VOLTD_CORE_WAITING_H
#define VOLTD_CORE_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

struct core;
struct explain_brief;
struct job;
struct work;

/* Returns CLOCK_BOOTTIME in microseconds, the same throughout one hold of the lock. */
uint64_t waiting_now(struct core *core);

/* Rank among jobs of the same user, queue and priority: in order of ids, but jobs that
 * were put first (job_changes.front) before all others. */
#define WAITING_RANK(id) (UINT64_C(1) << 63 | (id))
#define WAITING_FRONT(n) ((UINT64_C(1) << 63) - (n))

/* Gives a submitted job its place in admission, after which waiting cannot fail. Returns
 * 0, -ENOMEM, or -EINVAL with the reason: its claims can never be granted (claims.h). */
int waiting_assign(struct core *core, struct job *job, struct volt_error *err);
/* Does the same for a job that was accepted before, and refuses nothing. Returns 0 or
 * -ENOMEM. */
int waiting_assign_again(struct core *core, struct job *job);
/* Frees that place: the job will not wait again. */
void waiting_forget(struct core *core, struct job *job);
/* Makes a job wait, which must have its id. */
void waiting_enter(struct core *core, struct job *job);
/* Ends the wait; does nothing if the job does not wait. */
void waiting_leave(struct core *core, struct job *job);
/* Makes the job wait, or stop waiting, by whether anything of it wants a slot. */
void waiting_update(struct core *core, struct job *job);
/* Recounts all_early after a change of the job's early starts, or of its place in the
 * line. */
void waiting_recount(struct core *core, struct job *job);

/* Returns whether anything of a job with a place in admission wants a slot. */
bool waiting_wants(const struct job *job);
/* Returns the back-off, in us, that is left to a work. 0: it does not back off. */
uint64_t waiting_rest_left(struct core *core, const struct work *w);
/* Does the same for a job or element, which may have no task. */
uint64_t waiting_rest_of(struct core *core, const struct job *job, int64_t offset);
/* Returns whether the job waits, in the line or on a condition. */
bool waiting_has_to(const struct job *job);
/* Returns the shortest back-off left to an element of the array, and its offset; looks at
 * the first 64 that back off. UINT64_MAX: none does. */
uint64_t waiting_first_rest(struct core *core, const struct job *array,
                            int64_t *ret_offset);
/* Returns the number of jobs in the line. */
uint64_t waiting_count(const struct core *core);
/* Returns whether anything in the line does not start early. */
bool waiting_crowds(const struct core *core);
/* Returns how many jobs are before this one, and what it waits for there. False: it is
 * not in the line. */
bool waiting_place(struct core *core, const struct job *job, uint64_t *ret_place,
                   struct explain_brief *ret);

#endif

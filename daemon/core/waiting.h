/* Which jobs wait for a slot: core's end of daemon/admit. Lock held in all functions.
 *
 * A job that waits is one waiter in the line, and so is an array, however many of its
 * elements want a slot: those of the rest, for which there is no task yet, and those that
 * have one (elements.h). A job that starts early (dispatch/early_start.h) stays where it
 * is in the line until it has its slot. A job that is no process waits only if it has a
 * condition (admit/condition.h), or while its queue is paused. */
#ifndef VOLTD_CORE_WAITING_H
#define VOLTD_CORE_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>

struct core;
struct explain_brief;
struct job;
struct work;

/* CLOCK_BOOTTIME in microseconds, the same throughout one hold of the lock. */
uint64_t waiting_now(struct core *core);

/* Where it stands among those of its user, queue and priority: in the order of the ids;
 * what was put first, by job_changes.front, before all of these. */
#define WAITING_RANK(id) (UINT64_C(1) << 63 | (id))
#define WAITING_FRONT(n) ((UINT64_C(1) << 63) - (n))

/* What the job takes, as it is submitted: from here on it can wait, which cannot fail. 0;
 * -ENOMEM; -EINVAL, with the reason: it can never have what it claims (claims.h). */
int waiting_assign(struct core *core, struct job *job, struct volt_error *err);
/* The same of one that was taken by an earlier voltd, and is not refused. 0; -ENOMEM. */
int waiting_assign_again(struct core *core, struct job *job);
/* It never will again: what was taken for it is given back. */
void waiting_forget(struct core *core, struct job *job);
/* The job, which has its id, waits. */
void waiting_enter(struct core *core, struct job *job);
/* Nothing happens to one that does not wait. */
void waiting_leave(struct core *core, struct job *job);
/* It waits as long as anything of it is to start and has no slot. */
void waiting_update(struct core *core, struct job *job);
/* What of it starts early has changed, or that it is in the line. */
void waiting_recount(struct core *core, struct job *job);

/* Whether something of a job that waits, or waited, wants a slot. */
bool waiting_wants(const struct job *job);
/* How much is left of the time before a work wants a slot again; 0: it does not rest. */
uint64_t waiting_rest_left(struct core *core, const struct work *w);
/* The same of a job or an element, which may have no task. */
uint64_t waiting_rest_of(struct core *core, const struct job *job, int64_t offset);
/* The job waits: in the line, or on a condition. */
bool waiting_has_to(const struct job *job);
/* Of an array: the least that is left of such times of its elements, and the offset of
 * that element; of the first 64 that rest. UINT64_MAX: none does. */
uint64_t waiting_first_rest(struct core *core, const struct job *array,
                            int64_t *ret_offset);
/* Jobs in the line. */
uint64_t waiting_count(const struct core *core);
/* Something in it does not start early. */
bool waiting_crowds(const struct core *core);
/* How many are in front of the job, and what it waits for there. False: it is not in the
 * line. */
bool waiting_place(struct core *core, const struct job *job, uint64_t *ret_place,
                   struct explain_brief *ret);

#endif

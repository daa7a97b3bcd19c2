/* The conditions that live jobs wait on: core's end of admit/condition.h. Lock held in
 * all functions.
 *
 * A hold has two parts: a condition, which keeps the job out of the line, and the fact
 * HOLD, which the next voltd reads. The condition comes first where the job must be
 * called back from an early start (dispatch/holding.h). */
#ifndef VOLTD_CORE_CONDITIONS_H
#define VOLTD_CORE_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <volt/error.h>
#include "daemon/admit/condition.h"
#include "daemon/job/job.h"

struct core;
struct job;
struct job_spec;
struct tx;

/* Returns whether the spec asks for conditions other than a hold. */
bool conditions_asked(const struct job_spec *spec);
/* Gives the job its place in admission, if it takes anything, and its unmet conditions.
 * Submission and recovery call this. A fresh job is held as its spec says, and gets its
 * replace condition with its key (submit/claim.c). A recovered job is held as its facts
 * say, gets its replace condition here, and begins to wait; if it has ended, it gets the
 * claims of processes that may be left. Returns 0, or an error that leaves nothing
 * behind:
 *   -ENOMEM
 *   -EINVAL   its claims can never be granted
 *   -EAGAIN   an antecedent is unknown here: the spec needs its end first
 *             (query/past_edges.h) */
int core_wait_for(struct core *core, struct job *job, struct volt_error *err);
/* Makes the conditions of a job count, now that the job is in the table. */
void core_wait_begins(struct core *core, struct job *job, const struct job_spec *spec);
/* Removes the job from admission, with all conditions; also a job that never entered the
 * table. */
void conditions_forget(struct core *core, struct job *job);
/* Gives `next`, which stands for an edited job that has not begun, the times of its new
 * spec. Returns 0 or -ENOMEM. */
int conditions_prepare_times(struct core *core, struct job *next, struct job_spec *spec);
/* Moves the times of `next` to the job, in place of the job's own. */
void conditions_take_times(struct core *core, struct job *job, struct job *next,
                           const struct job_spec *spec);
/* Do the same for the jobs in `after`. Prepare returns 0, -ENOMEM, or -EAGAIN as
 * core_wait_for(). */
int conditions_prepare_after(struct core *core, struct job *next, struct job_spec *spec);
void conditions_take_after(struct core *core, struct job *job, struct job *next);
/* Returns the reason to report for a job that is not eligible. JOB_WAIT_NONE: the job is
 * eligible, or the reason is not a condition. */
enum job_wait conditions_wait(const struct job *job);
/* Returns the time left, in us, for a job that waits for a time. */
uint64_t conditions_time_left(struct core *core, const struct job *job);

/* Returns whether the job has an unmet condition. */
bool conditions_any(const struct job *job);
/* Returns who holds the job or array, by its facts. */
enum job_held conditions_held(const struct job *job);
/* Returns whether the job has the hold condition. */
bool conditions_is_held(const struct job *job);
/* Adds the hold condition to a job that waits or starts early. An admin's hold overrides
 * the user's. Returns 0 or -ENOMEM. */
int conditions_hold(struct core *core, struct job *job, const struct hold *by);
/* Posts HOLD for a queued job that has the hold condition, if that fact is missing.
 * Returns 0, or the store's error: the condition then follows the facts again. */
int conditions_keep_hold(struct tx *tx, struct job *job);
/* Removes the hold condition. */
void conditions_release(struct core *core, struct job *job);

#endif

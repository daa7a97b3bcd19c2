/* The conditions that live jobs wait on: core's end of admit/condition.h. Lock held in
 * all functions.
 *
 * A hold is two things: a condition, which keeps the job out of the line, and its fact
 * HOLD, by which the next voltd knows of it. The condition comes first where the job is
 * still to be taken back from an early start (dispatch/holding.h). */
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

/* What a job waits for, said once: submission and recovery call this. It gets its place
 * in admission, if it takes anything, and its conditions, unless they were met before; a
 * hold as its spec says when it is submitted, later by its facts; a recovered one what it
 * replaces (of a fresh one that comes with its key: submit/claim.c). One that has ended
 * gets what its processes may still have. A recovered one begins to wait. 0; negative,
 * and nothing is left of it: -ENOMEM; -EINVAL: it can never have what it claims; -EAGAIN:
 * nothing is known here of a job that it waits for: its spec is to say that first
 * (query/past_edges.h). */
int core_wait_for(struct core *core, struct job *job, struct volt_error *err);
/* It is in the table: what it waits for counts from now on. */
void core_wait_begins(struct core *core, struct job *job, const struct job_spec *spec);
/* It, or one that was to be in it, waits for nothing any more. */
void conditions_forget(struct core *core, struct job *job);
/* The times of a spec that is still to become that of a job which has not begun: for one
 * that stands for the job. 0; -ENOMEM. */
int conditions_prepare_times(struct core *core, struct job *next, struct job_spec *spec);
/* The job waits by these instead of its own. */
void conditions_take_times(struct core *core, struct job *job, struct job *next,
                           const struct job_spec *spec);
/* The same of the jobs that it waits for. 0; -ENOMEM; -EAGAIN: as core_wait_for(). */
int conditions_prepare_after(struct core *core, struct job *next, struct job_spec *spec);
void conditions_take_after(struct core *core, struct job *job, struct job *next);
/* The reason to be told of what is not eligible; JOB_WAIT_NONE: it is, or another one. */
enum job_wait conditions_wait(const struct job *job);
/* Of one that waits for a time: how long until then. */
uint64_t conditions_time_left(struct core *core, const struct job *job);

/* It has one that is not met. */
bool conditions_any(const struct job *job);
/* enum job_held of the job or array, by its facts. */
enum job_held conditions_held(const struct job *job);
/* It has the condition. */
bool conditions_is_held(const struct job *job);
/* The job, which waits, or starts early, has the condition; of several the admin's
 * counts. 0; -ENOMEM. */
int conditions_hold(struct core *core, struct job *job, const struct hold *by);
/* What has the condition and is queued gets its fact. 0, also if it has that; negative:
 * the store has refused it, and it has the condition no more. */
int conditions_keep_hold(struct tx *tx, struct job *job);
/* It has the condition no more. */
void conditions_release(struct core *core, struct job *job);

#endif

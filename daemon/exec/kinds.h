/* Kinds of jobs: the task that runs each. A table that the manager has from its start, so
 * that what makes tasks (a slot, a submission, a replay) does not know what they do. */
#ifndef VOLTD_EXEC_KINDS_H
#define VOLTD_EXEC_KINDS_H

#include <stdint.h>
#include <volt/task.h>
#include "daemon/job/spec.h"

struct job;
struct manager;
struct work;

struct kinds {
    const struct volt_task_type *array; /* of an array as a whole, whatever its kind */
    const struct volt_task_type *kind[JOB_KIND_NOOP + 1]; /* of a job, or an element */
};

extern const struct kinds kinds_all; /* kinds.c */

/* Returns a new unspawned task of the job, or of the element at offset; NULL: out of
 * memory. Any thread; the lock may be held. */
struct work *work_new(struct manager *m, struct job *job, int64_t offset);

#endif

/* Kinds of jobs: the task that runs each. A table that core has from its start, so that
 * what makes tasks (a slot, a submission, a replay) does not know what they do. */
#ifndef VOLTD_CORE_KINDS_H
#define VOLTD_CORE_KINDS_H

#include <stdint.h>
#include <volt/task.h>
#include "daemon/job/kind.h"

struct core;
struct job;
struct work;

struct kinds {
    const struct volt_task_type *array; /* of an array as a whole, whatever its kind */
    const struct volt_task_type *kind[JOB_KIND_COUNT]; /* of a job, or an element */
    /* Of what an earlier voltd began, or was to begin again: if it takes a slot, it gets
     * that, or its place in the line. */
    void (*adopt)(struct core *core, struct work *w);
};

/* Returns a new unspawned task of the job, or of the element at offset; NULL: out of
 * memory. Any thread; the lock may be held. */
struct work *work_new(struct core *core, struct job *job, int64_t offset);

#endif

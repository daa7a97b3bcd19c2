/* The task that runs each kind of job. Core is given this table at the start, so that
 * whatever makes tasks (grant, submission, replay) need not know what they do. */
#ifndef VOLTD_CORE_KINDS_H
#define VOLTD_CORE_KINDS_H

#include <stdint.h>
#include <volt/task.h>
#include "daemon/job/kind.h"

struct core;
struct job;
struct work;

struct kinds {
    const struct volt_task_type *array; /* an array as a whole, of any kind */
    const struct volt_task_type *kind[JOB_KIND_COUNT]; /* a job, or an element */
    /* Adopts a work that an earlier voltd began, or that backs off: gives it its slot, or
     * its place in the line, if it takes a slot. */
    void (*adopt)(struct core *core, struct work *w);
};

/* Returns a new unspawned task of the job, or of the element at offset. NULL: no memory.
 * Any thread; the lock may be held. */
struct work *work_new(struct core *core, struct job *job, int64_t offset);

#endif

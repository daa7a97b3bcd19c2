/* The tasks of the kinds (daemon/job/kinds.def), each in a file kind_NAME.c.
 *
 * Such a task takes its turn (work_turn_poll()), does what its kind is, and ends with
 * work_finish_poll(). It is dropped by work_drop(). */
#ifndef VOLTD_RUN_KINDS_H
#define VOLTD_RUN_KINDS_H

#include "daemon/core/kinds.h"

#define KIND(constant, name, ...) extern const struct volt_task_type kind_##name##_task;
#include "daemon/job/kinds.def"

extern const struct volt_task_type array_task; /* of an array that needs no slots */

void work_adopt(struct core *core, struct work *w); /* adopt.c */

#endif

/* The tasks of the kinds (daemon/job/kinds.def), each in a file kind_NAME.c.
 *
 * Each task takes its turn (work_turn_poll()), does the work of its kind, and ends with
 * work_finish_poll(). work_drop() drops it. */
#ifndef VOLTD_RUN_KINDS_H
#define VOLTD_RUN_KINDS_H

#include "daemon/core/kinds.h"

#define KIND(constant, name, ...) extern const struct volt_task_type kind_##name##_task;
#include "daemon/job/kinds.def"

extern const struct volt_task_type array_task; /* an array that needs no slots */

void work_adopt(struct core *core, struct work *w); /* adopt.c */

#endif

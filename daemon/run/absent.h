/* Users whose keeper is not connected are away (admit/admission.h): none of their jobs
 * gets a slot, which it would only hold. What waits of them makes voltd connect. */
#ifndef VOLTD_RUN_ABSENT_H
#define VOLTD_RUN_ABSENT_H

#include <stdbool.h>
#include <sys/types.h>

struct core;

/* For struct keeper_told; arg is the core. */
int absent_here(void *arg, uid_t uid, bool here);
bool absent_awaits(void *arg, uid_t uid);
/* Spawns the task that has keepers connected for users that are missed. 0; -ENOMEM;
 * -ESHUTDOWN. */
int absent_start(struct core *core);

#endif

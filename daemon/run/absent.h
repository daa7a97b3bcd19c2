/* Users without a connected keeper are away (admit/admission.h): none of their jobs gets
 * a slot, as it could not run. When such a user has waiting jobs, voltd connects to the
 * keeper. */
#ifndef VOLTD_RUN_ABSENT_H
#define VOLTD_RUN_ABSENT_H

#include <stdbool.h>
#include <sys/types.h>

struct core;

/* Functions for struct keeper_callbacks (link/keeper_link.h); arg is the core. The first
 * sets whether the user is away, the second returns whether jobs of the user wait. */
int absent_here(void *arg, uid_t uid, bool here);
bool absent_awaits(void *arg, uid_t uid);
/* Spawns the task that connects to the keepers of missed users. Returns 0, -ENOMEM or
 * -ESHUTDOWN. */
int absent_start(struct core *core);

#endif

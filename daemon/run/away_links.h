/* The links of users that are away: without a connected keeper (admit/account.h). Tells
 * dispatch/away.h which users are away, and connects to the keepers of those that are
 * missed. */
#ifndef VOLTD_RUN_AWAY_LINKS_H
#define VOLTD_RUN_AWAY_LINKS_H

#include <stdbool.h>
#include <sys/types.h>

struct core;

/* Functions for struct keeper_callbacks (link/keeper_link.h); arg is the core. The first
 * sets whether the user is away, the second returns whether jobs of the user wait. */
int away_links_here(void *arg, uid_t uid, bool here);
bool away_links_awaits(void *arg, uid_t uid);
/* Spawns the task that connects to the keepers of missed users. Returns 0, -ENOMEM or
 * -ESHUTDOWN. */
int away_links_start(struct core *core);

#endif

/* Users that are away (admit/admission.h), as those see them who know whether a user's
 * jobs can be run. Any thread, without the lock. */
#ifndef VOLTD_DISPATCH_AWAY_H
#define VOLTD_DISPATCH_AWAY_H

#include <stdbool.h>
#include <sys/types.h>

struct core;

/* The user is away, or here: then its jobs get the next slots. 0; -ENOMEM: nothing has
 * changed, only of a user that never had a job that waits. */
int away_set(struct core *core, uid_t uid, bool away);
/* Returns whether jobs of the user are in the line for slots. */
bool away_is_missed(struct core *core, uid_t uid);
/* Returns the next user that is away and has such jobs, once until it has more of them or
 * goes away again: parts_of(core)->missed is notified. False: there is none. */
bool away_take(struct core *core, uid_t *ret_uid);

#endif

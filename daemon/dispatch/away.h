/* Which users are away or missed (admit/account.h): the state. run/away_links.c sets it
 * and acts on it, as it has the links to keepers. Any thread, without the lock. */
#ifndef VOLTD_DISPATCH_AWAY_H
#define VOLTD_DISPATCH_AWAY_H

#include <stdbool.h>
#include <sys/types.h>

struct core;

/* Sets whether the user is away, and grants slots to its jobs if it is not. Returns 0;
 * -ENOMEM: nothing has changed. Cannot fail for a user that has had a waiting job. */
int away_set(struct core *core, uid_t uid, bool away);
/* Returns whether jobs of the user are in the line for slots. */
bool away_is_missed(struct core *core, uid_t uid);
/* Takes the first user from the list of missed users. Returns false if it is empty.
 * parts_of(core)->missed is notified when users are listed. */
bool away_take(struct core *core, uid_t *ret_uid);

#endif

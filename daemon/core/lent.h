/* Which jobs lend their slots: those inside of which something waits (lease/lending.h).
 * Lock held in all functions.
 *
 * What waits is in the list of the work of that job or element, while its attempt lasts.
 * The work lends its slot as long as the list is not empty. */
#ifndef VOLTD_CORE_LENT_H
#define VOLTD_CORE_LENT_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct core;
struct work;

/* In what waits. Zero-initialised it is inside of nothing. */
struct lending {
    struct list_node node; /* [L] in the list of the work */
    struct work *work;     /* [L] NULL: inside of nothing, or of nothing any more */
    bool told;             /* the caller's: it has named a job */
};

/* The work of this job or element, if it is a process of this user's that has a slot, and
 * has not ended, as far as is known. NULL: it is none. */
struct work *lent_find(struct core *core, uid_t uid, const struct job_key *key);
/* It waits inside this work. */
void lent_add(struct core *core, struct work *w, struct lending *l);
/* It waits no longer, inside of whatever it is. True: the work has its slot back. */
bool lent_remove(struct core *core, struct lending *l);
/* Its attempt is over, or never was: nothing waits inside it, and its slot, if it has
 * one, is its own. */
void lent_over(struct core *core, struct work *w);

#endif

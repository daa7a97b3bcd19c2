/* Jobs that lend their slots while something waits inside them (lease/lending.h). Lock
 * held in all functions.
 *
 * A waiting call is in the list of the job's or element's work for as long as the attempt
 * lasts. The work lends its slot while that list is not empty. */
#ifndef VOLTD_CORE_LENT_H
#define VOLTD_CORE_LENT_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/list.h"
#include "daemon/job/key.h"

struct core;
struct work;

/* Part of a waiting call. Zero-initialised: inside nothing. */
struct lending {
    struct list_node node; /* [L] in work.inside */
    struct work *work;     /* [L] NULL: inside nothing, or its attempt is over */
    bool named;            /* for the caller: it has named a job */
};

/* Returns the work of this user's job or element, if it is a process that has a slot and
 * has not ended. NULL: none. */
struct work *lent_find(struct core *core, uid_t uid, const struct job_key *key);
/* Adds a call that waits inside this work. */
void lent_add(struct core *core, struct work *w, struct lending *l);
/* Removes a call that no longer waits. Returns true if the work took its slot back. */
bool lent_remove(struct core *core, struct lending *l);
/* Removes all calls inside a work whose attempt is over or never began, and takes back
 * its slot if that was lent. */
void lent_over(struct core *core, struct work *w);

#endif

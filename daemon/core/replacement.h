/* Jobs that replace others (on_exists: replace).
 *
 * The successor's spec names the job that had its key, so one fact, its SUBMIT, is the
 * whole change. Before it is durable nothing has happened. From then on the predecessor
 * is cancelled, by this voltd or the next (recover.c). The successor waits on the
 * condition that nothing is left of the predecessor (admit/condition.h), so the two never
 * run side by side. The predecessor may have been cancelled while it waited itself. So
 * replaced jobs stay listed with their key until they are gone, and a successor waits for
 * all jobs listed with its key. Both jobs belong to one user: a replacement between two
 * users, which a store of an old version may have, is ignored. Lock held in all
 * functions. */
#ifndef VOLTD_CORE_REPLACEMENT_H
#define VOLTD_CORE_REPLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"

#define REPLACEMENTS_MAX                                                                 \
    1024 /* replaced jobs of a user that are not gone; beyond it a submission that
          * replaces is refused */

struct core;
struct job;

struct replaced {
    struct siphash128 key; /* name of the idempotency key */
    uint64_t id;
};

struct replacements {
    struct replaced *all;
    size_t n;
};

/* Returns whether this user has a live job of this id. Also valid during replay. */
bool replacement_is_due(struct core *core, uid_t uid, uint64_t id);
/* Lets the job, which is not in the line, take this key from `earlier`, which may be
 * done. Returns 1 if it must wait, 0 if nothing is left of earlier holders, -EDQUOT or
 * -ENOMEM. */
int replacement_add(struct core *core, struct job *job, struct siphash128 key,
                    uint64_t earlier);
/* Does the same for a recovered job, without the limit. Cancels `earlier` if that has not
 * ended. A job that has ended waits for nothing. Returns 0 or -ENOMEM. */
int replacement_add_again(struct core *core, struct job *job, uint64_t earlier);
/* Undoes replacement_add(), which has not become durable. */
void replacement_drop(struct core *core, struct job *job, uint64_t earlier);
/* Meets the conditions of jobs that replace this one: it has no process left. */
void replacement_over(struct core *core, struct job *job);

#endif

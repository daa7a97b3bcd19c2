/* Jobs that take the place of others (on_exists: replace).
 *
 * The successor's spec says that it replaces the one that had its key, so one fact in the
 * store, its SUBMIT, is the whole change: before it is kept nothing has happened, and
 * from then on the predecessor is cancelled, by us or by the next daemon (recover.c). The
 * successor waits on the condition that nothing is left of the predecessor
 * (admit/condition.h), so that the two never run side by side. The predecessor may have
 * been cancelled while it waited itself: what is replaced is listed with its key until it
 * has gone, and a successor waits for all that its key has listed. The jobs are of one
 * user: a replacement between two users, which a store of an old version may say, is not
 * carried out. Lock held in all functions. */
#ifndef VOLTD_CORE_REPLACEMENT_H
#define VOLTD_CORE_REPLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"

#define REPLACEMENTS_MAX                                                                 \
    1024 /* jobs that are replaced and have not gone: one more
                               * submission that replaces is refused */

struct core;
struct job;

struct replaced {
    struct siphash128 key; /* name of its idempotency key */
    uint64_t id;
};

struct replacements {
    struct replaced *all;
    size_t n;
};

/* Whether this user has such a job that is not done; also in the middle of a replay. */
bool replacement_is_due(struct core *core, uid_t uid, uint64_t id);
/* The job, which is not in the line, takes this key from `earlier`, which may be done. 1:
 * it has to wait; 0: nothing is left of what had the key; -EDQUOT; -ENOMEM. */
int replacement_add(struct core *core, struct job *job, struct siphash128 key,
                    uint64_t earlier);
/* The same of one that an earlier voltd took, however many are listed; `earlier` may not
 * have been cancelled yet, and is. One that has ended waits for nothing. 0; -ENOMEM. */
int replacement_add_again(struct core *core, struct job *job, uint64_t earlier);
/* It does not after all, and waits on its other conditions alone. */
void replacement_drop(struct core *core, struct job *job);
/* Nothing is left of the job. */
void replacement_over(struct core *core, struct job *job);

#endif

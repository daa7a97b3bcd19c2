/* How long the jobs of a user ran that have ended, by their names: what estimates are
 * made from (admit/estimate.h). Lock held in all functions.
 *
 * A name is its tag (index.h), which nobody can choose another name for. Of a user the
 * 1,024 names are kept that a job has ended of last, and all of its jobs together; of all
 * users 65,536 names, in the same way. Not durable. */
#ifndef VOLTD_CORE_DURATIONS_H
#define VOLTD_CORE_DURATIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "daemon/admit/sketch.h"

struct job;
struct job_event;
struct job_status;

#define DURATIONS_NAMES 1024  /* of one user */
#define DURATIONS_MOST  65536 /* names of all users, and at most as many users */

/* Zero-initialised is empty. */
struct durations {
    struct hash_table users, names;
    struct list all; /* names: the latest is the last */
};

/* What the end of an attempt tells of the next jobs of that name: one that ended by
 * itself, or by its limits. ran: how long it ran, with its pauses. */
void durations_note(struct durations *d, const struct job *job,
                    const struct job_status *st, const struct job_event *exited,
                    uint64_t ran_usec);
/* Without memory nothing is noted. */
void durations_add(struct durations *d, uid_t uid, uint32_t tag, uint64_t usec);
/* Of jobs of one name, of all jobs; NULL: none of them has ended, as far as is known. */
const struct sketch *durations_of_name(const struct durations *d, uid_t uid,
                                       uint32_t tag);
const struct sketch *durations_of_user(const struct durations *d, uid_t uid);
void durations_fini(struct durations *d);

#endif

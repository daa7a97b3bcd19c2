/* How long ended jobs of a user ran, by name; the basis of estimates (admit/estimate.h).
 * Lock held in all functions. Not durable.
 *
 * A name is stored as its tag (index.h), a keyed hash: no user can choose a name that
 * collides with another. Each user keeps the 1,024 names whose jobs ended last, and the
 * durations of all jobs together. All users together keep 65,536 names, by the same
 * rule. */
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
#define DURATIONS_MOST  65536 /* names of all users; also the limit of users */

/* Zero-initialised is empty. */
struct durations {
    struct hash_table users, names;
    struct list all; /* of names, the latest last */
};

/* Adds the run of an attempt that ended by itself or by its limits; ignores other ends.
 * st: after that end. ran_usec: the duration with pauses. */
void durations_note(struct durations *d, const struct job *job,
                    const struct job_status *st, const struct job_event *exited,
                    uint64_t ran_usec);
/* Adds one duration. Does nothing without memory. */
void durations_add(struct durations *d, uid_t uid, uint32_t tag, uint64_t usec);
/* Return the durations of jobs of one name, and of all of the user's jobs. NULL: none is
 * known. */
const struct sketch *durations_of_name(const struct durations *d, uid_t uid,
                                       uint32_t tag);
const struct sketch *durations_of_user(const struct durations *d, uid_t uid);
void durations_fini(struct durations *d);

#endif

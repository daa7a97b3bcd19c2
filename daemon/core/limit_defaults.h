/* Limits that the configuration sets for jobs whose submitter sets none. */
#ifndef VOLTD_CORE_LIMIT_DEFAULTS_H
#define VOLTD_CORE_LIMIT_DEFAULTS_H

#include "daemon/job/queue.h"
#include "daemon/job/spec.h"

struct core;

/* A limit that a user or group does not set: that of its groups, or of all, applies. */
#define LIMIT_NOT_SAID (UINT64_MAX - 1)

struct limit_default {
    enum queue_list of; /* users go before groups */
    struct queue_allowed who;
    struct job_cgroup cgroup; /* each may be LIMIT_NOT_SAID */
};
struct limit_defaults {
    struct job_cgroup all; /* of all users */
    size_t n;
    struct limit_default some[];
};

/* Returns a new object with n zeroed users and groups. NULL: no memory. */
struct limit_defaults *limit_defaults_new(size_t n);
void limit_defaults_free(struct limit_defaults *d); /* NULL allowed */
/* Returns whether any limit is set; false for NULL. */
bool limit_defaults_any(const struct limit_defaults *d);
/* Returns the limits of this user. */
struct job_cgroup limit_defaults_of(const struct limit_defaults *d,
                                    const struct job_owner *owner);

/* --- lock held ---------------------------------------------------------------------- */
/* Replaces the limits for new jobs; takes d. */
void limit_defaults_set(struct core *core, struct limit_defaults *d);
/* Writes the limits into the spec of a process, which no other thread has seen. A key
 * that is given again does not compare them. */
void limit_defaults_take(struct core *core, const struct job_owner *owner,
                         struct job_spec *spec);

#endif

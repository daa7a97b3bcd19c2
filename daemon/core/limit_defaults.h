/* Limits of jobs that the configuration gives where the submitter does not. */
#ifndef VOLTD_CORE_LIMIT_DEFAULTS_H
#define VOLTD_CORE_LIMIT_DEFAULTS_H

#include "daemon/job/queue.h"
#include "daemon/job/spec.h"

struct core;

#define LIMIT_NOT_SAID (UINT64_MAX - 1) /* of users and groups: what is less particular */

struct limit_default {
    enum queue_list of; /* users go before groups */
    struct queue_allowed who;
    struct job_cgroup cgroup; /* each may be LIMIT_NOT_SAID */
};
struct limit_defaults {
    struct job_cgroup all; /* of everybody */
    size_t n;
    struct limit_default some[];
};

/* Returns new, for n users and groups, which are zeroes; NULL: no memory. */
struct limit_defaults *limit_defaults_new(size_t n);
void limit_defaults_free(struct limit_defaults *d); /* NULL allowed */
/* Returns whether there is any limit. NULL: none. */
bool limit_defaults_any(const struct limit_defaults *d);
/* Returns those of this user. */
struct job_cgroup limit_defaults_of(const struct limit_defaults *d,
                                    const struct job_owner *owner);

/* --- lock held ---------------------------------------------------------------------- */
/* Puts them in force for jobs to come; takes them. */
void limit_defaults_set(struct core *core, struct limit_defaults *d);
/* Writes them into a spec, which nothing else has seen, if it is of a process. They are
 * not compared between submissions. */
void limit_defaults_take(struct core *core, const struct job_owner *owner,
                         struct job_spec *spec);

#endif

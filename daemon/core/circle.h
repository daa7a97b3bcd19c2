/* Whether jobs would wait for each other.
 *
 * A submission names jobs that there are already, or that come before it in its batch: no
 * circle comes of that. An edit may name any job, also one that waits for the job that is
 * edited. So what the new antecedents wait for is looked at, through live jobs and the
 * edges that are unmet, breadth first: a met one does not hold anything up. Lock held. */
#ifndef VOLTD_CORE_CIRCLE_H
#define VOLTD_CORE_CIRCLE_H

#include <volt/error.h>

struct core;
struct job;
struct job_spec;

#define CIRCLE_LOOKS 4096 /* edges */

/* The job is to wait by `after` of this spec. 0; -EINVAL, with the reason: a shortest
 * circle that this would make, or that more than CIRCLE_LOOKS edges would have to be
 * looked at; -ENOMEM. */
int circle_check(struct core *core, const struct job *job, const struct job_spec *spec,
                 struct volt_error *err);

#endif

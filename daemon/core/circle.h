/* Finds jobs that would wait for each other.
 *
 * A submission can name only jobs that exist, or that come before it in its batch, so it
 * makes no circle. An edit may name any job, also one that waits for the edited job. The
 * search therefore follows the new antecedents, breadth first, through live jobs and
 * their unmet edges. Met edges delay nothing. Lock held. */
#ifndef VOLTD_CORE_CIRCLE_H
#define VOLTD_CORE_CIRCLE_H

#include <volt/error.h>

struct core;
struct job;
struct job_spec;

#define CIRCLE_LOOKS 4096 /* edges, at most, in one search */

/* Checks the `after` of an edited spec. Returns 0, -ENOMEM, or -EINVAL with the reason: a
 * shortest circle that the edit would close, or a search of more than CIRCLE_LOOKS
 * edges. */
int circle_check(struct core *core, const struct job *job, const struct job_spec *spec,
                 struct volt_error *err);

#endif

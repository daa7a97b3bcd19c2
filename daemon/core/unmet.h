/* The unmet edges of a waiting job: those of the job or array as a whole, and those of
 * its elements. For the searches for circles (circle.h, deadlock.h). Lock held. */
#ifndef VOLTD_CORE_UNMET_H
#define VOLTD_CORE_UNMET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/job/job.h"

struct condition;
struct each;
struct each_edge;
struct job;

struct unmet_edge {
    uint64_t antecedent;
    enum job_after when;
    const struct each_edge *each; /* element to element; NULL: job or array as a whole */
};

struct unmet_edges { /* position of the iteration; private */
    const struct condition *condition;
    const struct each *each; /* NULL: no element waits */
    size_t at;
};

/* Starts the iteration. The job's conditions must not change until it ends. */
void unmet_begin(struct unmet_edges *u, const struct job *job);
/* Returns the next edge in *ret. False: there are no more. */
bool unmet_next(struct unmet_edges *u, struct unmet_edge *ret);

#endif

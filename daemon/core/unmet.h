/* The jobs that a waiting job is to start after still: its unmet edges, of the job or
 * array as a whole and of its elements. What looks for circles follows them (circle.h,
 * deadlock.h). Lock held. */
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
    const struct each_edge *each; /* element to element; NULL: as a whole */
};

struct unmet_edges { /* the next ones; private */
    const struct condition *condition;
    const struct each *each; /* NULL: no element waits */
    size_t at;
};

/* Nothing of what the job waits for may change before the last one. */
void unmet_begin(struct unmet_edges *u, const struct job *job);
/* False: there is no further one. */
bool unmet_next(struct unmet_edges *u, struct unmet_edge *ret);

#endif

/* Attempts of a job or an element: what the store has of those that were followed by
 * another one, and the latest. */
#ifndef VOLTD_QUERY_ATTEMPTS_H
#define VOLTD_QUERY_ATTEMPTS_H

#include "daemon/query/job_view.h"

struct core;
struct volt_cx;

struct attempt_view {
    uint32_t number;
    struct job_end end;                /* NONE: it has not ended */
    uint64_t started_usec, ended_usec; /* 0: it has not */
    bool has_printed;                  /* another one follows, and: */
    uint64_t printed[2]; /* where what it printed ends, in the output of all, by stream */
};

/* In order, the latest: at most 2 * JOB_ATTEMPTS_KEPT, and one. */
struct attempts {
    struct attempt_view *all;
    size_t n;
};

/* Those of what is in the view, no array as a whole. Blocks, on behalf of the poll that
 * cx is of. 0; -ENOMEM; -EBADMSG: the store is damaged; another errno of reading. */
int query_attempts(struct volt_cx *cx, struct core *core, const struct job_view *v,
                   struct attempts *ret);
void query_attempts_fini(struct attempts *a);

#endif

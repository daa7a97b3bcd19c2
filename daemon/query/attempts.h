/* Attempts of a job or an element: the latest, and earlier ones from the store. */
#ifndef VOLTD_QUERY_ATTEMPTS_H
#define VOLTD_QUERY_ATTEMPTS_H

#include "daemon/query/job_view.h"

struct core;
struct volt_cx;

struct attempt_view {
    uint32_t number;
    struct job_end end;                /* NONE: the attempt has not ended */
    uint64_t started_usec, ended_usec; /* 0: not yet */
    bool has_printed;                  /* another attempt follows, and printed is set */
    uint64_t printed[2];               /* by stream: end of its output in the file */
};

/* In order, the latest last: at most 2 * JOB_ATTEMPTS_KEPT + 1. */
struct attempts {
    struct attempt_view *all;
    size_t n;
};

/* Reads the attempts of the job or element in the view, which is no whole array. Blocks,
 * on behalf of the poll of cx. 0; -ENOMEM; -EBADMSG: the store is damaged; another errno
 * of reading. */
int query_attempts(struct volt_cx *cx, struct core *core, const struct job_view *v,
                   struct attempts *ret);
void query_attempts_fini(struct attempts *a);

#endif

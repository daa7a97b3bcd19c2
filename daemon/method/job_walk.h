/* Jobs that a List or the snapshot of a Watch tells: a walk through them, a turn at a
 * time, written as text. */
#ifndef VOLTD_METHOD_JOB_WALK_H
#define VOLTD_METHOD_JOB_WALK_H

#include "daemon/method/params.h"
#include "wire/writer.h"

struct job_walk {
    struct query_walk walk;
    uint64_t fields; /* of each job that are shown ... */
    uint64_t spec;   /* ... and of its spec */
    size_t job_text; /* what a job may take of the text: the most that one took */
};

/* Zeroes *w. kept: also what only the store has. */
void job_walk_init(struct job_walk *w, const struct job_wish *wish, bool kept);
/* Looks at as many jobs as the turn has room for, and writes those that are wanted. 0 or
 * -errno. It writes a page of the store as a whole: where specs are large, on a thread
 * that is no worker. */
int job_walk_portion(struct volt_cx *cx, struct call *call,
                     const struct job_filter *filter, struct job_walk *w,
                     struct wire_buf *text);

#endif

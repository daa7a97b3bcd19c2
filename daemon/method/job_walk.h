/* A walk through the jobs of a List or of a Watch's snapshot, a turn at a time, written
 * as text. */
#ifndef VOLTD_METHOD_JOB_WALK_H
#define VOLTD_METHOD_JOB_WALK_H

#include "daemon/method/params.h"
#include "wire/writer.h"

struct job_walk {
    struct query_walk walk;
    uint64_t fields; /* to write of each job ... */
    uint64_t spec;   /* ... and of its spec */
    size_t job_text; /* bytes of text expected per job: the most so far */
};

/* Zeroes *w. kept: also read the store. */
void job_walk_init(struct job_walk *w, const struct job_wish *wish, bool kept);
/* Looks at as many jobs as the turn allows, and writes the wanted ones. 0 or -errno. A
 * page of the store is written whole: large specs on a thread that is no worker. */
int job_walk_portion(struct volt_cx *cx, struct call *call,
                     const struct job_filter *filter, struct job_walk *w,
                     struct wire_buf *text);

#endif

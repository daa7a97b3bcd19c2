/* Properties of the kinds of jobs: the rows of kinds.def. Their tasks are in
 * daemon/run/kinds.h. */
#ifndef VOLTD_JOB_KIND_H
#define VOLTD_JOB_KIND_H

#include <stdbool.h>

enum job_kind {
#define KIND(constant, name, ...) JOB_KIND_##constant,
#include "daemon/job/kinds.def"
    JOB_KIND_COUNT
};

struct job_kind_row {
    const char *name;
    /* The keeper runs it. Such a job takes a slot, for which it waits without a task. The
     * job has a record, output, limits and signals. Its run begins when STARTING is
     * durable. A restart reads its record. Other kinds begin anew. */
    bool is_process;
    bool ends_at_once; /* its start is not reported */
};

extern const struct job_kind_row job_kinds[JOB_KIND_COUNT];

#endif

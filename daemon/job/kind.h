/* What is known of a kind of jobs without running one: a row of kinds.def. Its task is in
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
    /* The keeper runs it: it takes a slot, for which it waits without a task, and has a
     * record, output, limits and signals. It begins when STARTING is durable, and a
     * restart looks at its record. What is no process begins anew. */
    bool is_process;
    bool ends_at_once; /* its start is no news of its own */
};

extern const struct job_kind_row job_kinds[JOB_KIND_COUNT];

#endif

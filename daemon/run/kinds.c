/* The tasks of all kinds. */
#include "daemon/run/kinds.h"
#include "daemon/run/run.h"

const struct kinds kinds_all = {.array = &array_task,
                                .adopt = work_adopt,
                                .kind = {
#define KIND(constant, name, ...) [JOB_KIND_##constant] = &kind_##name##_task,
#include "daemon/job/kinds.def"
                                }};

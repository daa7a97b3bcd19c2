/* See kinds.h. */
#include "daemon/exec/jobs.h"

static const struct volt_task_type exec_type = {"job exec", sizeof(struct work),
                                                work_exec_poll, work_drop, NULL};
static const struct volt_task_type sleep_type = {"job sleep", sizeof(struct work),
                                                 work_sleep_poll, work_drop, NULL};
static const struct volt_task_type noop_type = {"job noop", sizeof(struct work),
                                                work_noop_poll, work_drop, NULL};
static const struct volt_task_type array_type = {"job array", sizeof(struct work),
                                                 work_array_poll, work_drop, NULL};

const struct kinds kinds_all = {.array = &array_type,
                                .kind = {[JOB_KIND_EXEC] = &exec_type,
                                         [JOB_KIND_SLEEP] = &sleep_type,
                                         [JOB_KIND_NOOP] = &noop_type}};

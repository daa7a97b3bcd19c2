/* Makes the tasks of jobs by the table of kinds: kinds.h. */
#include "daemon/core/state.h"

static const struct volt_task_type *type_of(const struct core *core,
                                            const struct job *job, int64_t offset)
{
    if (job->array && offset == NO_OFFSET)
        return core->kinds->array;
    return core->kinds->kind[job->kind];
}

struct work *work_new(struct core *core, struct job *job, int64_t offset)
{
    struct work *w = volt_task_new(core->parts.rt, type_of(core, job, offset));

    if (!w)
        return NULL;
    w->core = core;
    w->job = job;
    w->offset = offset;
    return w;
}

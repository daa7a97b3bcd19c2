/* Tasks of jobs, made by the table of kinds: kinds.h. */
#include "daemon/exec/jobs.h"

static const struct volt_task_type *type_of(const struct manager *m,
                                            const struct job *job, int64_t offset)
{
    if (job->array && offset == NO_OFFSET)
        return m->kinds->array;
    return m->kinds->kind[job->kind];
}

struct work *work_new(struct manager *m, struct job *job, int64_t offset)
{
    struct work *w = volt_task_new(m->rt, type_of(m, job, offset));

    if (!w)
        return NULL;
    w->manager = m;
    w->job = job;
    w->offset = offset;
    return w;
}

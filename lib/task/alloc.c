/* Memory of tasks: header and state in one allocation (K-2). */
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

void *volt_task_new(struct volt_runtime *rt, const struct volt_task_type *type)
{
    if (type->size > SIZE_MAX / 2)
        return NULL;
    struct volt_task *t = malloc(sizeof(*t) + type->size);
    if (!t)
        return NULL;
    memset(t, 0, sizeof(*t) + type->size);
    vat_u64_init(&t->state, TASK_REF_ONE);
    t->type = type;
    t->rt = rt;
    return task_state(t);
}

void volt_task_discard(void *state)
{
    if (state)
        task_free(task_of(state));
}

void task_free(struct volt_task *t)
{
    free(t);
}

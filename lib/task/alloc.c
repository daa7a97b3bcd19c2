/* Header and state of a task in one slot of a slab (K-2). */
#include "task/slab.h"

#include <string.h>

void *volt_task_new(struct volt_runtime *rt, const struct volt_task_type *type)
{
    if (type->size > SIZE_MAX / 2)
        return NULL;
    struct volt_task *t = slab_alloc(heap_of(rt), sizeof(*t) + type->size);

    if (!t)
        return NULL;
    /* The state word stays as it is: dead, until spawn exchanges it. */
    t->type = type;
    t->rt = rt;
    return memset(task_state(t), 0, type->size);
}

void volt_task_discard(void *state)
{
    if (state)
        task_free(task_of(state));
}

void task_free(struct volt_task *t)
{
    slab_free(t);
}

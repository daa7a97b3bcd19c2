/* Header and state of a task in one slot of a slab (K-2). */
#include "task/leaves.h"

#include <string.h>

/* With a record behind the state. */
static __attribute__((noinline)) void *new_watched(struct volt_runtime *rt,
                                                   const struct volt_task_type *type)
{
    struct volt_task *t =
        slab_alloc(heap_of(rt), sizeof(*t) + type->size + heap_of(rt)->extra);

    if (!t)
        return NULL;
    t->type = type;
    t->rt = rt;
    leaves_init(t);
    return memset(task_state(t), 0, type->size);
}

void *volt_task_new(struct volt_runtime *rt, const struct volt_task_type *type)
{
    if (type->size > SIZE_MAX / 2)
        return NULL;
    struct heap *h = heap_of(rt);
    if (__builtin_expect(h && h->extra, 0))
        return new_watched(rt, type);
    struct volt_task *t = slab_alloc(h, sizeof(*t) + type->size);

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

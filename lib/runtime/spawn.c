/* Handing tasks to the runtime. */
#include "runtime/runtime.h"
#include "sched/local.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* The task of a state that is to be spawned. */
static inline struct volt_task *task_to_spawn(void *state)
{
    assert(state && "there is no state: volt_task_new() had no memory");
    return task_of(state);
}

/* Ends t here and now instead of queueing it. */
static void refuse(struct volt_task *t, bool counted)
{
    enum task_start verdict = task_start(t);

    (void)verdict; /* dropped whatever it is */
    task_end(NULL, t, true, counted);
}

/* The calling thread as a worker of s, or NULL. */
static struct worker *self_in(struct sched *s)
{
    struct worker *w = worker_current();

    return w && w->sched == s ? w : NULL;
}

/* False: the runtime is closing; the task has ended as cancelled. */
static inline bool admit(struct sched *s, struct worker *self, struct volt_task *t,
                         struct volt_join *ret_join)
{
    if (ret_join)
        ret_join->task = t;
    task_begin(t, ret_join != NULL);
    if (live_closing(&s->live)) {
        refuse(t, false);
        return false;
    }
    counter_add_at(self, self ? &self->count.spawned : NULL, &s->spawned);
    return true;
}

int volt_task_spawn(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_to_spawn(state);
    struct sched *s = sched_of(t->rt);
    struct worker *self = self_in(s);

    if (!admit(s, self, t, ret_join))
        return -ESHUTDOWN;
    if (self && ret_join)
        worker_schedule_child(self, t);
    else if (self)
        worker_schedule(self, t);
    else
        sched_inject(s, t);
    return 0;
}

int volt_task_start(struct volt_runtime *rt, const struct volt_task_type *type,
                    const void *state, struct volt_join *ret_join)
{
    void *copy = volt_task_new(rt, type);

    if (ret_join)
        ret_join->task = NULL;
    if (!copy)
        return -ENOMEM;
    memcpy(copy, state, type->size);
    return volt_task_spawn(copy, ret_join);
}

int volt_task_spawn_all(void *const states[], size_t n)
{
    struct task_chain chain = {0};
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        struct volt_task *t = task_to_spawn(states[i]);
        struct sched *s = sched_of(t->rt);

        if (admit(s, self_in(s), t, NULL))
            task_chain_push(&chain, t);
        else
            r = -ESHUTDOWN;
    }
    sched_submit_chain(&chain);
    return r;
}

int volt_task_spawn_blocking(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_to_spawn(state);
    struct volt_runtime *rt = t->rt;

    if (!admit(&rt->sched, self_in(&rt->sched), t, ret_join))
        return -ESHUTDOWN;
    int r = pool_submit(&rt->pool, t);
    if (r < 0)
        refuse(t, true);
    return r;
}

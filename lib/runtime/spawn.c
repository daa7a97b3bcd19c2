/* Handing tasks to the runtime. */
#include "runtime/runtime.h"

#include <errno.h>

/* Worker w spawns into its own list; other threads take turns. */
static uint32_t list_for(struct sched *s)
{
    static vat_u32 turn;
    static _Thread_local uint32_t mine;
    struct worker *w = worker_current();

    if (w && w->sched == s)
        return w->index;
    if (mine == 0)
        mine = vat_u32_add(&turn, 1, VAT_RLX) % OWNED_OUTSIDE + 1;
    return s->workers + mine - 1;
}

/* Ends t here and now instead of queueing it. */
static void refuse(struct owned *o, struct volt_task *t)
{
    enum task_start verdict = task_start(t);

    (void)verdict; /* dropped whatever it is */
    task_end(o, t, true);
}

/* False: the runtime is closing; the task has ended as cancelled. */
static bool admit(struct volt_task *t, struct volt_join *ret_join)
{
    struct sched *s = sched_of(t->rt);
    uint64_t state = TASK_NOTIFIED | TASK_REF_ONE;

    if (ret_join) {
        state |= TASK_JOIN_INTEREST;
        state += TASK_REF_ONE;
        ret_join->task = t;
    }
    vat_u64_init(&t->state, state);
    if (owned_add(&s->owned, t, list_for(s)))
        return true;
    refuse(NULL, t);
    return false;
}

int volt_task_spawn(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_of(state);

    if (!admit(t, ret_join))
        return -ESHUTDOWN;
    sched_submit(t);
    return 0;
}

int volt_task_spawn_blocking(void *state, struct volt_join *ret_join)
{
    struct volt_task *t = task_of(state);
    struct volt_runtime *rt = t->rt;

    if (!admit(t, ret_join))
        return -ESHUTDOWN;
    int r = pool_submit(&rt->pool, t);
    if (r < 0)
        refuse(&rt->sched.owned, t);
    return r;
}

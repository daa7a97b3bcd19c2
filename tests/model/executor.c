#include "executor.h"
#include "base/clock.h"
#include "mcx.h"

static struct {
    struct volt_task *task;
    vat_u32 queued; /* by who holds the token, ar; by the executor, ar */
} bag[EXECUTOR_TASKS];
static int ntasks, running;

void executor_reset(void)
{
    ntasks = running = 0;
}

static int index_of(const struct volt_task *t)
{
    for (int i = 0; i < ntasks; i++)
        if (bag[i].task == t)
            return i;
    mcx_fail("a token of no task");
}

struct volt_task *executor_spawn(const struct volt_task_type *type,
                                 struct volt_join *ret_join, bool hold_back)
{
    static const char *const names[EXECUTOR_TASKS] = {"task 0", "task 1", "task 2",
                                                      "task 3"};
    struct volt_task *t = task_of(volt_task_new(NULL, type));

    if (ret_join)
        ret_join->task = t;
    task_begin(t, ret_join != NULL);
    mcx_name(t, sizeof(*t) + type->size, names[ntasks]);
    vat_u32_init(&bag[ntasks].queued, !hold_back);
    mcx_name(&bag[ntasks].queued, sizeof(bag[0].queued), "(queued)");
    bag[ntasks++].task = t;
    return t;
}

void executor_release(struct volt_task *t)
{
    sched_submit(t);
}

struct volt_waker executor_waker(struct volt_task *t)
{
    task_ref(t);
    return (struct volt_waker){t};
}

void sched_submit(struct volt_task *t)
{
    if (vat_u32_add(&bag[index_of(t)].queued, 1, VAT_AR) != 0)
        mcx_fail("a task is queued twice: two tokens");
}

void sched_submit_chain(struct task_chain *chain)
{
    while (chain->head)
        sched_submit(task_chain_pop(chain));
}

bool sched_is_worker(void)
{
    return false; /* threads of a model that wait are none */
}

static bool any(void *arg)
{
    (void)arg;
    for (int i = 0; i < ntasks; i++)
        if (bag[i].queued.v)
            return true;
    return false;
}

bool executor_idle(void)
{
    return running == 0 && !any(NULL);
}

/* Takes the token of task i and runs it. */
static void run(int i)
{
    struct volt_cx cx = {.budget = VOLT_BUDGET_PER_POLL};

    running++;
    if (task_run(&cx, bag[i].task) == TASK_RAN_AGAIN)
        sched_submit(bag[i].task);
    running--;
}

void executor_run(void)
{
    mcx_daemon();
    for (;;) {
        mcx_block_until(any, NULL);
        for (int i = 0; i < ntasks; i++) {
            uint32_t queued = 1;

            if (vat_u32_cas(&bag[i].queued, &queued, 0, VAT_AR, VAT_ACQ))
                run(i);
        }
    }
}

/* Of models without one of their own: no task of theirs is watched (task/leaves.h). */
uint64_t __attribute__((weak)) clock_ns(void)
{
    return 0;
}

/* Where a token goes. Only a worker of the task's own runtime may use its slot and ring
 * (F-D1, F-D2); every other thread goes through that runtime's global queue. */
#include "sched/sched.h"

static _Thread_local struct worker *current;

struct worker *worker_current(void)
{
    return current;
}

void worker_set_current(struct worker *w)
{
    current = w;
}

/* By a thread that is no worker of s. The tokens keep the runtime until they are queued,
 * the gate keeps it until the notify is done. */
static void submit_outside(struct sched *s, struct task_chain *chain)
{
    inject_enter(&s->inject);
    inject_push(&s->inject, chain);
    sched_notify(s, NULL);
    inject_leave(&s->inject);
}

void sched_submit(struct volt_task *t)
{
    struct sched *s = sched_of(t->rt);

    if (current && current->sched == s) {
        worker_schedule(current, t);
        return;
    }
    struct task_chain one = {0};
    task_chain_push(&one, t);
    submit_outside(s, &one);
}

/* Cuts the first tasks of one runtime off the chain. */
static struct sched *cut(struct task_chain *chain, struct task_chain *run)
{
    struct sched *s = sched_of(chain->head->rt);

    while (chain->head && sched_of(chain->head->rt) == s)
        task_chain_push(run, task_chain_pop(chain));
    return s;
}

void sched_submit_chain(struct task_chain *chain)
{
    while (chain->head) {
        struct task_chain run = {0};
        struct sched *s = cut(chain, &run);

        if (!current || current->sched != s)
            submit_outside(s, &run);
        else if (run.count == 1)
            worker_schedule(current, run.head);
        else
            worker_push_chain(current, &run);
    }
}

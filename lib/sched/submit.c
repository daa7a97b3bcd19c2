/* Where a token goes. Only a worker of the task's own runtime may use its slot and ring
 * (F-D1, F-D2); every other thread goes through that runtime's global queue. */
#include "sched/local.h"

#include <unistd.h>

VAT_THREAD_LOCAL struct worker *worker_self;

bool sched_is_worker(void)
{
    return worker_self && worker_self->sched->process == getpid();
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

void sched_inject(struct sched *s, struct volt_task *t)
{
    struct task_chain one = {0};

    task_chain_push(&one, t);
    inject_push(&s->inject, &one);
    sched_notify(s, NULL);
}

void sched_submit(struct volt_task *t)
{
    struct sched *s = sched_of(t->rt);

    if (worker_self && worker_self->sched == s) {
        worker_schedule(worker_self, t);
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
    if (chain->count == 1) {
        sched_submit(task_chain_pop(chain));
        return;
    }
    while (chain->head) {
        struct task_chain run = {0};
        struct sched *s = cut(chain, &run);

        if (!worker_self || worker_self->sched != s)
            submit_outside(s, &run);
        else if (run.count == 1)
            worker_schedule(worker_self, run.head);
        else
            worker_push_chain(worker_self, &run);
    }
}

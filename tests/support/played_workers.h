/* A scheduler without threads: the test thread plays its workers. Tasks are tokens without
 * a state: they are queued and taken, and never polled. */
#ifndef VOLT_TESTS_PLAYED_WORKERS_H
#define VOLT_TESTS_PLAYED_WORKERS_H

#include "sched/local.h"

#include <string.h>

enum { WORKERS = 3, TASKS = 4 * RING_CAPACITY };

static struct sched *s;
static struct worker *w;
static struct volt_task task[TASKS];
static struct volt_cx cx[WORKERS];

static inline int setup(void **state)
{
    static struct sched sched[2];
    static struct worker worker[2][WORKERS];

    (void)state;
    memset(sched, 0, sizeof(sched));
    memset(worker, 0, sizeof(worker));
    for (int i = 0; i < 2; i++)
        sched_init(&sched[i], worker[i], WORKERS, true, 1);
    s = sched;
    w = worker[0];
    for (int i = 0; i < WORKERS; i++) {
        cx[i] = (struct volt_cx){.worker = &w[i], .budget = VOLT_BUDGET_PER_POLL};
        w[i].cx = &cx[i];
    }
    memset(task, 0, sizeof(task));
    for (int i = 0; i < TASKS; i++)
        task[i].rt = (struct volt_runtime *)(void *)s;
    worker_set_current(NULL);
    return 0;
}

/* Worker i sleeps; it is found at rest, so the verdict of its park is of no interest. */
static inline void sleep_worker(uint32_t i)
{
    bool look = idle_park(&s->idle, i, false);

    (void)look;
}

static inline bool claimed(uint32_t i)
{
    return vat_u32_load(&w[i].park.word, VAT_RLX) == PARK_NOTIFIED;
}

/* Tasks from `from` on, to a lane of the global queue. */
static inline void lay_in(struct inject *lane, uint32_t from, uint32_t n)
{
    struct task_chain chain = {0};

    for (uint32_t i = 0; i < n; i++)
        task_chain_push(&chain, &task[from + i]);
    inject_push(lane, &chain);
}

static inline void inject(uint32_t from, uint32_t n)
{
    lay_in(&s->inject, from, n);
}

static inline void throw_out(uint32_t from, uint32_t n)
{
    lay_in(&s->spill, from, n);
}

#endif

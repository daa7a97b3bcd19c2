/* Statistics: single-writer counters, read relaxed (T-3). */
#include "base/clock.h"
#include "runtime/runtime.h"

#include <errno.h>

static uint64_t get(const vat_u64 *c)
{
    return vat_u64_load(c, VAT_RLX);
}

static void worker_read(const struct worker *w, struct volt_worker_stats *ret)
{
    const struct counters *c = &w->count;
    const struct volt_task_type *type = vat_ptr_load(&c->running, VAT_RLX);
    const struct volt_task_type *longest = vat_ptr_load(&c->longest, VAT_RLX);
    uint64_t clock = get(&c->clock), now = clock_ns();

    *ret = (struct volt_worker_stats){
        .polled = get(&c->polled),
        .stolen = get(&c->stolen),
        .steal_ops = get(&c->steal_ops),
        .parked = get(&c->parked),
        .lifo_hits = get(&c->lifo_hits),
        .lifo_stolen = get(&c->lifo_stolen),
        .rescues = get(&c->rescues),
        .global_batch_fetches = get(&c->global_batch_fetches),
        .overflows = get(&c->overflows),
        .budget_exhausted = get(&c->budget_exhausted),
        .wakeups = get(&c->wakeups),
        .wakeups_skipped = get(&c->wakeups_skipped),
        .spurious_wakes = get(&c->spurious_wakes),
        .busy_victims = get(&c->busy_victims),
        .avg_task_ns = get(&c->avg_ns),
        .longest_poll_usec = get(&c->longest_ns) / 1000,
        .long_polls = get(&c->long_polls),
        .longest_task = longest ? longest->name : NULL,
        .global_queue_interval = vat_u32_load(&c->interval, VAT_RLX),
        .ring_depth = ring_len(&w->ring),
    };
    /* The worker looks at the clock at least every 8 short polls. */
    if (type && now > clock && now - clock > LONG_POLL_NS) {
        ret->stuck = 1;
        ret->stuck_task = type->name;
    }
}

int volt_worker_stats(const struct volt_runtime *rt, unsigned index,
                      struct volt_worker_stats *ret)
{
    if (index >= rt->sched.workers)
        return -EINVAL;
    worker_read(&rt->sched.worker[index], ret);
    return 0;
}

static void add(struct volt_worker_stats *sum, const struct volt_worker_stats *w)
{
    sum->polled += w->polled;
    sum->stolen += w->stolen;
    sum->steal_ops += w->steal_ops;
    sum->parked += w->parked;
    sum->lifo_hits += w->lifo_hits;
    sum->lifo_stolen += w->lifo_stolen;
    sum->global_batch_fetches += w->global_batch_fetches;
    sum->overflows += w->overflows;
    sum->budget_exhausted += w->budget_exhausted;
    sum->wakeups += w->wakeups;
    sum->wakeups_skipped += w->wakeups_skipped;
    sum->spurious_wakes += w->spurious_wakes;
    sum->busy_victims += w->busy_victims;
    sum->rescues += w->rescues;
    sum->avg_task_ns += w->avg_task_ns;
    sum->global_queue_interval += w->global_queue_interval;
    sum->ring_depth += w->ring_depth;
    sum->stuck += w->stuck;
    if (w->stuck_task)
        sum->stuck_task = w->stuck_task;
    sum->long_polls += w->long_polls;
    if (w->longest_poll_usec > sum->longest_poll_usec) {
        sum->longest_poll_usec = w->longest_poll_usec;
        sum->longest_task = w->longest_task;
    }
}

void volt_runtime_stats(const struct volt_runtime *rt, struct volt_stats *ret)
{
    const struct sched *s = &rt->sched;

    *ret = (struct volt_stats){
        .global_depth = inject_len(&s->inject) + inject_len(&s->spill),
        .timers = driver_timers(s->driver),
        .io_handles = driver_io_handles(s->driver),
        .task_bytes = slab_bytes(s->heap),
        .workers = s->workers,
        .workers_parked = sched_parked(s),
        .blocking_threads = vat_u32_load(&rt->pool.running, VAT_RLX),
    };
    /* completed before spawned: never more ended than spawned. */
    ret->completed = vat_u64_load(&s->completed, VAT_ACQ);
    ret->cancelled = get(&s->cancelled);
    for (unsigned i = 0; i < s->workers; i++) {
        ret->completed += vat_u64_load(&s->worker[i].count.completed, VAT_ACQ);
        ret->cancelled += get(&s->worker[i].count.cancelled);
    }
    ret->spawned = get(&s->spawned);
    for (unsigned i = 0; i < s->workers; i++)
        ret->spawned += get(&s->worker[i].count.spawned);
    ret->live = ret->spawned - ret->completed;
    for (unsigned i = 0; i < s->workers; i++) {
        struct volt_worker_stats w;

        worker_read(&s->worker[i], &w);
        add(&ret->total, &w);
    }
    ret->total.avg_task_ns /= s->workers;
    ret->total.global_queue_interval /= s->workers;
}

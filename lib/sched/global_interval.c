#include "sched/global_interval.h"

#include "task/limits.h"

void global_interval_init(struct global_interval *v)
{
    v->avg_ns = VOLT_INITIAL_AVG_TASK_NS;
    v->polls = VOLT_INITIAL_GLOBAL_INTERVAL;
}

/* 0.9^n by squaring. */
static double decay(uint32_t n)
{
    double r = 1, p = 0.9;

    for (; n; n >>= 1, p *= p)
        if (n & 1)
            r *= p;
    return r;
}

void global_interval_update(struct global_interval *v, uint32_t n, uint64_t ns)
{
    if (n == 0)
        return;
    double keep = decay(n);

    v->avg_ns = (1 - keep) * ((double)ns / n) + keep * v->avg_ns;
    if (v->avg_ns < 1)
        v->avg_ns = 1;
    double polls = VOLT_TARGET_GLOBAL_LATENCY_NS / v->avg_ns;
    if (polls < VOLT_MIN_GLOBAL_QUEUE_INTERVAL)
        polls = VOLT_MIN_GLOBAL_QUEUE_INTERVAL;
    if (polls > VOLT_MAX_GLOBAL_QUEUE_INTERVAL)
        polls = VOLT_MAX_GLOBAL_QUEUE_INTERVAL;
    v->polls = (uint32_t)polls;
}

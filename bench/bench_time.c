/* Timers.
 *
 *   timer_cancel   one task arms a timer of a minute and cancels it, a million times; ns
 *   timers_100k    100,000 tasks started at once sleep to moments spread over the 50 ms that
 *                  follow: CPU ms of the whole, and how late the middle one woke
 *   timers_10k     10,000 tasks sleep 100 to 500 ms: how late they woke
 *   canary         one task sleeps 1 ms, 2,000 times, beside 1,000,000 that sleep 1 to 41 s,
 *                  armed in no order: how late it woke. Most of that is the system's: beside
 *                  it a thread does the same by clock_nanosleep(), whose p99 is the limit;
 *                  over_p99 and over_p999 are the differences of the two quantiles
 *   cancel         main cancels 100,000 tasks that sleep a minute, then awaits them;
 *                  ns for each */
#include "bench/tasks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
    CANCELS = 1000000,
    CROWD = 100000,
    CROWD_USEC = 50000,
    CALM = 10000,
    CALM_FROM_USEC = 100000,
    CALM_USEC = 400000,
    MILLION = 1000000,
    MILLION_FROM_USEC = 1000000,
    MILLION_USEC = 40000000,
    CANARY = 2000,
    CANCELLED = 100000,
    CANCELLED_USEC = 60000000,
};

/* --- limits */

static double limit_timer_cancel(void)
{
    return floor_clock_read() + 2 * floor_rmw() + floor_call();
}

/* Spawning, arming, being woken and polled again, in milliseconds. */
static double limit_crowd_cpu(void)
{
    double one = 4 * floor_touch() + 2 * floor_clock_read() + 8 * floor_rmw() +
                 floor_message() + 2 * floor_call();

    return one * CROWD / 1e6;
}

static double limit_late_ms(void)
{
    return floor_sleep_p50() / 1000;
}

static double limit_late_p99_ms(void)
{
    return floor_sleep_p99() / 1000;
}

/* --- workloads */

struct canceller {
    int n;
    struct volt_sleep sleep;
};

static enum volt_poll canceller_poll(struct volt_cx *cx, void *state)
{
    struct canceller *s = state;

    while (s->n < CANCELS) {
        volt_sleep_init(&s->sleep, 60000000);
        if (volt_sleep_poll(cx, &s->sleep) == VOLT_READY)
            bench_die("a timer fired early");
        volt_sleep_fini(&s->sleep);
        if (++s->n % 128 == 0) { /* as every task does that has much to do */
            volt_cx_wake(cx);
            return VOLT_PENDING;
        }
    }
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(canceller, sizeof(struct canceller));

static void timer_cancel(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    (void)w;
    bench_tasks_expect(1);
    start = bench_now();
    bench_spawn(bench_task(rt, &canceller_type));
    bench_gate_wait();
    *ret = bench_per_op(start, CANCELS);
}

struct sleeper {
    double *late_ms;
    struct volt_sleep sleep;
};

static enum volt_poll sleeper_poll(struct volt_cx *cx, void *state)
{
    struct sleeper *s = state;

    if (volt_sleep_poll(cx, &s->sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    *s->late_ms = ((double)bench_now() / 1e3 - (double)s->sleep.deadline_usec) / 1e3;
    volt_sleep_fini(&s->sleep);
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(sleeper, sizeof(struct sleeper));

static double late[CROWD];

/* n sleepers whose moments are spread over span, in no order. */
static void sleepers(uint32_t n, uint64_t from_usec, uint64_t span_usec)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t begin = bench_now() / 1000 + from_usec;

    bench_tasks_expect(n);
    for (uint64_t i = 0; i < n; i++) {
        struct sleeper *s = bench_task(rt, &sleeper_type);

        s->late_ms = &late[i];
        volt_sleep_init_at(&s->sleep, begin + i * 7919 % n * span_usec / n);
        bench_spawn(s);
    }
    bench_gate_wait();
}

static void timers_100k(const struct bench_workload *w, double *ret)
{
    uint64_t cpu = bench_cpu();

    (void)w;
    sleepers(CROWD, 0, CROWD_USEC);
    ret[0] = (double)(bench_cpu() - cpu) / 1e6;
    ret[1] = bench_quantile(late, CROWD, 0.5);
}

static void timers_10k(const struct bench_workload *w, double *ret)
{
    (void)w;
    sleepers(CALM, CALM_FROM_USEC, CALM_USEC);
    ret[0] = bench_quantile(late, CALM, 0.5);
    ret[1] = bench_quantile(late, CALM, 0.99);
}

/* One of the million. */
static enum volt_poll mass_poll(struct volt_cx *cx, void *state)
{
    return volt_sleep_poll(cx, state);
}

static void mass_drop(void *state)
{
    volt_sleep_fini(state);
}

static const struct volt_task_type mass_type = {
    .name = "mass",
    .size = sizeof(struct volt_sleep),
    .poll = mass_poll,
    .drop = mass_drop,
};

struct canary {
    uint32_t n;
    struct volt_sleep sleep;
};

static enum volt_poll canary_poll(struct volt_cx *cx, void *state)
{
    struct canary *s = state;

    for (;;) {
        if (!s->sleep.deadline_usec)
            volt_sleep_init(&s->sleep, 1000);
        if (volt_sleep_poll(cx, &s->sleep) == VOLT_PENDING)
            return VOLT_PENDING;
        late[s->n] = ((double)bench_now() / 1e3 - (double)s->sleep.deadline_usec) / 1e3;
        volt_sleep_fini(&s->sleep);
        s->sleep.deadline_usec = 0;
        if (++s->n == CANARY)
            break;
    }
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(canary, sizeof(struct canary));

/* What the system does alone, at the same time. */
static struct {
    vat_u32 stop;
    size_t n;
    double late_ms[2 * CANARY];
} beside;

static void *sleep_beside(void *arg)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    while (beside.n < 2 * (size_t)CANARY && !vat_u32_load(&beside.stop, VAT_RLX)) {
        uint64_t at = bench_now() + 1000000;
        struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
            ;
        beside.late_ms[beside.n++] = (double)(bench_now() - at) / 1e6;
    }
    return arg;
}

static double limit_beside_p99_ms(void)
{
    return bench_quantile(beside.late_ms, beside.n, 0.99);
}

static double over(double q)
{
    return bench_quantile(late, CANARY, q) - bench_quantile(beside.late_ms, beside.n, q);
}

static void canary(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    pthread_t sleeper;
    uint64_t begin = bench_now() / 1000 + MILLION_FROM_USEC;

    (void)w;
    for (uint64_t i = 0; i < MILLION; i++) {
        struct volt_sleep *s = bench_task(rt, &mass_type);

        volt_sleep_init_at(s, begin + i * 7919 % MILLION * MILLION_USEC / MILLION);
        bench_spawn(s);
    }
    bench_tasks_expect(1);
    if (pthread_create(&sleeper, NULL, sleep_beside, NULL) != 0)
        bench_die("cannot start a thread");
    bench_spawn(memset(bench_task(rt, &canary_type), 0, sizeof(struct canary)));
    bench_gate_wait();
    vat_u32_store(&beside.stop, 1, VAT_RLX);
    pthread_join(sleeper, NULL);
    ret[0] = bench_quantile(late, CANARY, 0.99);
    ret[1] = bench_quantile(late, CANARY, 1);
    ret[2] = over(0.99);
    ret[3] = over(0.999);
}

/* One to be cancelled: it counts as done when it has gone to sleep. */
static enum volt_poll dozer_poll(struct volt_cx *cx, void *state)
{
    struct volt_sleep *s = state;
    bool first = s->deadline_usec == 0;

    if (first)
        volt_sleep_init(s, CANCELLED_USEC);
    if (volt_sleep_poll(cx, s) == VOLT_READY)
        bench_die("a timer fired early");
    if (first)
        bench_task_done();
    return VOLT_PENDING;
}

static const struct volt_task_type dozer_type = {
    .name = "dozer",
    .size = sizeof(struct volt_sleep),
    .poll = dozer_poll,
    .drop = mass_drop,
};

static void cancel(const struct bench_workload *w, double *ret)
{
    static struct volt_join join[CANCELLED];
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    (void)w;
    bench_tasks_expect(CANCELLED);
    for (int i = 0; i < CANCELLED; i++) {
        if (volt_task_spawn(bench_task(rt, &dozer_type), &join[i]) < 0)
            bench_die("cannot spawn");
    }
    bench_gate_wait();
    start = bench_now();
    for (int i = 0; i < CANCELLED; i++)
        volt_join_cancel(&join[i]);
    for (int i = 0; i < CANCELLED; i++) {
        if (volt_join_wait(&join[i]) != -ECANCELED)
            bench_die("a task was not cancelled");
        volt_join_fini(&join[i]);
    }
    *ret = bench_per_op(start, CANCELLED);
}

static const struct bench_workload workloads[] = {
    {"timer_cancel", BENCH_TIME(limit_timer_cancel), timer_cancel, 0, false},
    {.name = "timers_100k",
     .run = timers_100k,
     .metrics = {{"cpu", "ms", limit_crowd_cpu, false},
                 {"late_p50", "ms", limit_late_ms, false}}},
    {.name = "timers_10k",
     .run = timers_10k,
     .metrics = {{"late_p50", "ms", limit_late_ms, false},
                 {"late_p99", "ms", limit_late_p99_ms, false}}},
    {"cancel", BENCH_TIME(NULL), cancel, 0, false},
    {.name = "canary",
     .run = canary,
     .metrics = {{"late_p99", "ms", limit_beside_p99_ms, false},
                 {"late_max", "ms", NULL, false},
                 {"over_p99", "ms", NULL, false},
                 {"over_p999", "ms", NULL, false}},
     .once = true},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}

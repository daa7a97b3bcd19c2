/* How soon things happen, and what it costs when nothing does.
 *
 *   wake          a task is notified from outside while all workers sleep; us until its poll
 *   inject_64, inject_1024
 *                 so many tasks work for 1 us and yield, for ever; us from spawning a task
 *                 from outside until its poll. 1024 are more than the rings of two workers
 *                 hold.
 *   inject_full   the same, when the rings of all workers are full of such tasks
 *   imbalance     one task spawns 20,000 tasks of 10 us: which part of the time of all
 *                 workers was used
 *   idle          a runtime with nothing to do for a second
 *   parked_task   bytes of memory per task that waits, beside its own state */
#include "bench/tasks.h"
#include "task/limits.h"

enum {
    WAKES = 300,
    INJECTIONS = 100,
    INJECTIONS_FULL = 1000,
    FULL_PAUSE_NS = 100000,
    PAUSE_NS = 1000000,
    POLL_NS = 1000,
    PIECES = 20000,
    PIECE_NS = 10000,
    PARKED = 200000,
};

/* The poll that is going on ends, and the task is seen. */
static double limit_inject(void)
{
    return (POLL_NS + floor_core_to_core()) / 1e3;
}

static vat_u64 stamp; /* when the task was polled */

static double since_stamp_us(uint64_t start)
{
    return (double)(vat_u64_load(&stamp, VAT_ACQ) - start) / 1000;
}

static void quantiles(double *us, size_t n, double *ret)
{
    ret[0] = bench_quantile(us, n, 0.5);
    ret[1] = bench_quantile(us, n, 0.99);
}

/* --- waking */

static struct volt_notify bell;

struct listener {
    int at, n;
    struct volt_notified heard;
};

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < WAKES; s->n++) {
        volt_notified_init(&s->heard, &bell);
        VOLT_AWAIT(s->at, volt_notified_poll(cx, &s->heard));
        vat_u64_store(&stamp, bench_now(), VAT_REL);
        volt_notified_fini(&s->heard);
        bench_gate_open();
    }
    VOLT_END(s->at);
}
BENCH_TYPE(listener, sizeof(struct listener));

static void wake(const struct bench_workload *w, double *ret)
{
    double us[WAKES];

    (void)w;
    volt_notify_init(&bell);
    bench_spawn(bench_task(bench_runtime(bench_workers()), &listener_type));
    for (int i = 0; i < WAKES; i++) {
        uint64_t start;

        bench_sleep(PAUSE_NS);
        start = bench_now();
        volt_notify_one(&bell);
        bench_gate_wait();
        us[i] = since_stamp_us(start);
    }
    quantiles(us, WAKES, ret);
}

/* --- injection */

static vat_u32 stop;

static enum volt_poll busy_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    if (vat_u32_load(&stop, VAT_RLX)) {
        bench_task_done();
        return VOLT_READY;
    }
    bench_burn(POLL_NS);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}
BENCH_TYPE(busy, 0);

static enum volt_poll injected_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    vat_u64_store(&stamp, bench_now(), VAT_REL);
    bench_gate_open();
    return VOLT_READY;
}
BENCH_TYPE(injected, 0);

static void start_busy(struct volt_runtime *rt, uint32_t n)
{
    vat_u32_store(&stop, 0, VAT_RLX);
    bench_tasks_expect(n);
    for (uint32_t i = 0; i < n; i++)
        bench_spawn(bench_task(rt, &busy_type));
}

static void end_busy(void)
{
    vat_u32_store(&stop, 1, VAT_REL);
    bench_gate_wait();
}

/* us from spawning a task until its poll, n times. */
static void injections(struct volt_runtime *rt, uint64_t pause_ns, double *us, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t start;

        bench_sleep(pause_ns);
        start = bench_now();
        bench_spawn(bench_task(rt, &injected_type));
        if (!bench_gate_comes())
            bench_die("an injected task was not run for seconds");
        us[i] = since_stamp_us(start);
    }
}

static void inject(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    double us[INJECTIONS];

    start_busy(rt, (uint32_t)w->arg);
    injections(rt, PAUSE_NS, us, INJECTIONS);
    end_busy();
    quantiles(us, INJECTIONS, ret);
}

static bool all_full(struct volt_runtime *rt)
{
    for (unsigned i = 0; i < volt_runtime_workers(rt); i++) {
        struct volt_worker_stats st;

        if (volt_worker_stats(rt, i, &st) < 0 || st.ring_depth < VOLT_RING_CAPACITY - 1)
            return false;
    }
    return true;
}

static void inject_full(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    static double us[INJECTIONS_FULL];

    (void)w;
    start_busy(rt, 3 * VOLT_RING_CAPACITY * bench_workers());
    while (!all_full(rt))
        bench_sleep(FULL_PAUSE_NS);
    injections(rt, FULL_PAUSE_NS, us, INJECTIONS_FULL);
    end_busy();
    ret[0] = bench_quantile(us, INJECTIONS_FULL, 0.5);
    ret[1] = bench_quantile(us, INJECTIONS_FULL, 0.999);
}

/* --- imbalance */

static enum volt_poll piece_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    bench_burn(PIECE_NS);
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(piece, 0);

static enum volt_poll divider_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    for (int i = 0; i < PIECES; i++)
        bench_spawn(bench_task(volt_cx_runtime(cx), &piece_type));
    return VOLT_READY;
}
BENCH_TYPE(divider, 0);

static void imbalance(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    (void)w;
    bench_tasks_expect(PIECES);
    start = bench_now();
    bench_spawn(bench_task(rt, &divider_type));
    bench_gate_wait();
    *ret = (double)PIECES * PIECE_NS / bench_processors() / (double)(bench_now() - start);
}

/* --- nothing to do */

static enum volt_poll parked_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    bench_task_done();
    return VOLT_PENDING;
}
BENCH_TYPE(parked, 0);

static void idle(const struct bench_workload *w, double *ret)
{
    (void)w;
    bench_tasks_expect(1);
    bench_spawn(bench_task(bench_runtime(bench_workers()), &piece_type));
    bench_gate_wait();
    bench_sleep(900000000); /* whatever they do before they sleep for good */
    bench_idle(1, &ret[0], &ret[1]);
}

static void parked_task(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t before;

    (void)w;
    bench_tasks_expect(1);
    bench_spawn(bench_task(rt, &parked_type)); /* all that is made once is there now */
    bench_gate_wait();
    before = bench_resident();
    bench_tasks_expect(PARKED);
    for (int i = 0; i < PARKED; i++)
        bench_spawn(bench_task(rt, &parked_type));
    bench_gate_wait();
    *ret = (double)(bench_resident() - before) / PARKED;
}

#define P50_P99(low, high)                                                               \
    {                                                                                    \
        {"p50", "us", low, false}, {"p99", "us", high, false},                           \
    }

static const struct bench_workload workloads[] = {
    {"wake", P50_P99(floor_wake_p50, floor_wake_p99), wake, 0, false},
    {"inject_64", P50_P99(limit_inject, limit_inject), inject, 64, false},
    {"inject_1024", P50_P99(limit_inject, limit_inject), inject, 1024, false},
    {"inject_full",
     {{"p50", "us", limit_inject, false}, {"p99.9", "us", limit_inject, false}},
     inject_full,
     0,
     false},
    {"imbalance", {{"used", "part", floor_share, true}}, imbalance, 0, false},
    {"idle",
     {{"switches", "/s", NULL, false}, {"cpu", "us/s", NULL, false}},
     idle,
     0,
     true},
    {"parked_task", {{"memory", "B", NULL, false}}, parked_task, 0, true},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}

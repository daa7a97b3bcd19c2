// The workloads of bench/bench_*.c on oneTBB, those that make sense there: its tasks are calls, they
// do not wait for one another but by running others. The workers are an arena without a place for the
// main thread; what comes from outside is enqueued, what tasks start goes to a task group. A yield
// is an enqueue too: what a group is given, its worker would run next.
#include "bench/harness.h"

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace
{

using namespace oneapi;

enum {
    SPAWNS = 1000000,
    WAVE = 200,
    CHAINS = 300,
    DEPTH = 1000,
    YIELDERS = 200,
    YIELDS = 1000,
    MESSAGES = 1000000,
    ROOM = 1024,
    WAKES = 300,
    INJECTIONS = 100,
    PAUSE_NS = 1000000,
    POLL_NS = 1000,
    PIECES = 20000,
    PIECE_NS = 10000,
    SKEWED = 20000,
    SHORT_NS = 100,
    LONG_NS = 20000,
    FIB_CALLS = 150049,        // of fib(24)
    FIB_SCOPE_CALLS = 1028457, // of fib(28)
    FORKED = 10000,
    FORKS = 20,
    SET = 1000,
    SETS = 200,
    MAX_WORKERS = 8,
};

struct alignas(128) Count {
    std::atomic<long> n;
} left;

void expect(long n)
{
    left.n = n;
}

void done()
{
    if (left.n.fetch_sub(1, std::memory_order_acq_rel) == 1)
        bench_gate_open();
}

tbb::task_arena &arena(int workers)
{
    static tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                      MAX_WORKERS + 1);
    static std::unique_ptr<tbb::task_arena> one;

    if (!one || one->max_concurrency() != workers)
        one = std::make_unique<tbb::task_arena>(workers, 0);
    return *one;
}

tbb::task_arena &arena()
{
    return arena(static_cast<int>(bench_workers()));
}

// --- as bench_spawn.c

void spawn_remote(const bench_workload *w, double *ret)
{
    auto &a = arena(w->arg ? w->arg : static_cast<int>(bench_workers()));

    expect(SPAWNS);
    uint64_t start = bench_now();
    for (int i = 0; i < SPAWNS; i++)
        a.enqueue([] { done(); });
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

void spawn_local(const bench_workload *w, double *ret)
{
    auto &a = arena(w->arg ? w->arg : static_cast<int>(bench_workers()));

    expect(1);
    uint64_t start = bench_now();
    a.enqueue([] {
        tbb::task_group group;
        std::atomic<long> sum{0};
        for (int i = 0; i < SPAWNS; i++)
            group.run([&sum] { sum.fetch_add(1, std::memory_order_acq_rel); });
        group.wait();
        done();
    });
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

void spawn_local_200(const bench_workload *, double *ret)
{
    expect(1);
    uint64_t start = bench_now();
    arena().enqueue([] {
        tbb::task_group group;
        for (int n = 0; n < SPAWNS / WAVE; n++) {
            for (int i = 0; i < WAVE; i++)
                group.run([] {});
            group.wait();
        }
        done();
    });
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

void chain(tbb::task_group &group, int depth)
{
    if (depth > 1)
        group.run([&group, depth] { chain(group, depth - 1); });
}

void chained_spawn(const bench_workload *, double *ret)
{
    uint64_t start = bench_now();

    for (int i = 0; i < CHAINS; i++) {
        expect(1);
        arena().enqueue([] {
            tbb::task_group group;
            chain(group, DEPTH);
            group.wait();
            done();
        });
        bench_gate_wait();
    }
    *ret = bench_per_op(start, uint64_t{CHAINS} * DEPTH);
}

void yielder(int n)
{
    if (n > 0)
        tbb::this_task_arena::enqueue([n] { yielder(n - 1); });
    else
        done();
}

void yield_many(const bench_workload *, double *ret)
{
    auto &a = arena();

    expect(YIELDERS);
    uint64_t start = bench_now();
    for (int i = 0; i < YIELDERS; i++)
        a.enqueue([] { yielder(YIELDS); });
    bench_gate_wait();
    *ret = bench_per_op(start, uint64_t{YIELDERS} * YIELDS);
}

// --- as bench_sync.c: producers wait, so they are threads of their own here

void mpsc(const bench_workload *w, double *ret)
{
    tbb::concurrent_bounded_queue<uint64_t> channel;
    std::vector<std::thread> producers;
    uint64_t value;

    channel.set_capacity(ROOM);
    uint64_t start = bench_now();
    for (int p = 0; p < w->arg; p++) {
        producers.emplace_back([&] {
            for (int i = 0; i < MESSAGES / w->arg; i++)
                channel.push(static_cast<uint64_t>(i));
        });
    }
    for (int i = 0; i < MESSAGES; i++)
        channel.pop(value);
    for (auto &p : producers)
        p.join();
    *ret = bench_per_op(start, MESSAGES);
}

// --- as bench_latency.c

std::atomic<uint64_t> stamp;
std::atomic<bool> stop;

// Quantiles of what an enqueued task takes to run; false: for seconds one was not run.
bool latencies(int n, double *ret)
{
    double us[WAKES];

    for (int i = 0; i < n; i++) {
        bench_sleep(PAUSE_NS);
        uint64_t start = bench_now();
        arena().enqueue([] {
            stamp = bench_now();
            bench_gate_open();
        });
        if (!bench_gate_comes()) {
            ret[0] = ret[1] = BENCH_NEVER_SECONDS * 1e6;
            return false;
        }
        us[i] = static_cast<double>(stamp - start) / 1000;
    }
    ret[0] = bench_quantile(us, static_cast<size_t>(n), 0.5);
    ret[1] = bench_quantile(us, static_cast<size_t>(n), 0.99);
    return true;
}

void wake(const bench_workload *, double *ret)
{
    (void)latencies(WAKES, ret);
}

void busy()
{
    if (stop) {
        done();
        return;
    }
    bench_burn(POLL_NS);
    tbb::this_task_arena::enqueue(busy);
}

void inject(const bench_workload *w, double *ret)
{
    stop = false;
    expect(w->arg);
    for (int i = 0; i < w->arg; i++)
        arena().enqueue(busy);
    bool came = latencies(INJECTIONS, ret);
    stop = true;
    bench_gate_wait();
    if (!came)
        bench_gate_wait(); // the one that came too late
}

void imbalance(const bench_workload *, double *ret)
{
    expect(1);
    uint64_t start = bench_now();
    arena().enqueue([] {
        tbb::task_group group;
        for (int i = 0; i < PIECES; i++)
            group.run([] { bench_burn(PIECE_NS); });
        group.wait();
        done();
    });
    bench_gate_wait();
    *ret = static_cast<double>(PIECES) * PIECE_NS / bench_processors() /
           static_cast<double>(bench_now() - start);
}

void idle(const bench_workload *, double *ret)
{
    expect(1);
    arena().enqueue([] { done(); });
    bench_gate_wait();
    bench_sleep(900000000);
    bench_idle(1, &ret[0], &ret[1]);
}

// --- as bench_load.c

// The figures of a task of the arena.
template <class F> void load(uint64_t operations, double *ret, F task)
{
    expect(1);
    bench_load meter = bench_load_begin();
    arena().enqueue([&task] {
        task();
        done();
    });
    bench_gate_wait();
    bench_load_end(&meter, operations, ret);
}

void skew(const bench_workload *, double *ret)
{
    load(SKEWED, ret, [] {
        tbb::task_group group;
        for (int i = 0; i < SKEWED; i++)
            group.run([i] { bench_burn(i % 10 ? SHORT_NS : LONG_NS); });
        group.wait();
    });
}

// The calls of its whole tree.
long fib(int n)
{
    if (n < 2)
        return 1;
    tbb::task_group children;
    long one, other;
    children.run([&one, n] { one = fib(n - 1); });
    children.run([&other, n] { other = fib(n - 2); });
    children.wait();
    return 1 + one + other;
}

// The same; the second child runs in its parent's place.
long fib_scope(int n)
{
    if (n < 2)
        return 1;
    tbb::task_group children;
    long one, other;
    children.run([&one, n] { one = fib_scope(n - 1); });
    children.run_and_wait([&other, n] { other = fib_scope(n - 2); });
    return 1 + one + other;
}

void fork_join(const bench_workload *, double *ret)
{
    load(FIB_CALLS, ret, [] {
        if (fib(24) != FIB_CALLS)
            bench_die("a call is missing");
    });
}

void fork_scope(const bench_workload *, double *ret)
{
    load(FIB_SCOPE_CALLS, ret, [] {
        if (fib_scope(28) != FIB_SCOPE_CALLS)
            bench_die("a call is missing");
    });
}

void fork_10k(const bench_workload *, double *ret)
{
    load(uint64_t{FORKED} * FORKS, ret, [] {
        tbb::task_group children;
        for (int turn = 0; turn < FORKS; turn++) {
            for (int i = 0; i < FORKED; i++)
                children.run([] {});
            children.wait();
        }
    });
}

// What each leaves goes through a queue, in the order of their ends; it is taken when all have.
void join_set(const bench_workload *, double *ret)
{
    load(uint64_t{SET} * SETS, ret, [] {
        for (int turn = 0; turn < SETS; turn++) {
            tbb::task_group set;
            tbb::concurrent_queue<long> results;
            long sum = 0;
            for (int i = 0; i < SET; i++)
                set.run([&results, i] { results.push(i); });
            set.wait();
            for (long n = 0; results.try_pop(n);)
                sum += n;
            if (sum != SET * (SET - 1) / 2)
                bench_die("a member is missing");
        }
    });
}

#define TIME                                                                             \
    {                                                                                    \
        {                                                                                \
            "time", "ns", nullptr, false                                                 \
        }                                                                                \
    }
#define P50_P99                                                                          \
    {                                                                                    \
        {"p50", "us", nullptr, false}, {"p99", "us", nullptr, false},                    \
    }

#define LOAD                                                                             \
    {                                                                                    \
        {"time", "ns", nullptr, false}, BENCH_LOAD_METRICS,                              \
    }

const bench_workload workloads[] = {
    {"spawn_remote", TIME, spawn_remote, 0, false},
    {"spawn_remote_1w", TIME, spawn_remote, 1, false},
    {"spawn_remote_4w", TIME, spawn_remote, 4, false},
    {"spawn_remote_8w", TIME, spawn_remote, 8, false},
    {"spawn_local", TIME, spawn_local, 0, false},
    {"spawn_local_1w", TIME, spawn_local, 1, false},
    {"spawn_local_200", TIME, spawn_local_200, 0, false},
    {"chained_spawn", TIME, chained_spawn, 0, false},
    {"yield_many", TIME, yield_many, 0, false},
    {"mpsc_1", TIME, mpsc, 1, false},
    {"mpsc_4", TIME, mpsc, 4, false},
    {"wake", P50_P99, wake, 0, false},
    {"inject_64", P50_P99, inject, 64, false},
    {"inject_1024", P50_P99, inject, 1024, false},
    {"imbalance", {{"used", "part", nullptr, true}}, imbalance, 0, false},
    {"idle",
     {{"switches", "/s", nullptr, false}, {"cpu", "us/s", nullptr, false}},
     idle,
     0,
     true},
    {"skew", LOAD, skew, 0, false},
    {"fork_join", LOAD, fork_join, 0, false},
    {"fork_scope", LOAD, fork_scope, 0, false},
    {"fork_10k", LOAD, fork_10k, 0, false},
    {"join_set", LOAD, join_set, 0, false},
};

} // namespace

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "tbb", workloads,
                      sizeof(workloads) / sizeof(workloads[0]));
}

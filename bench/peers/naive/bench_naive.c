/* The workloads of bench_*.c on the naive pool. Its calls cannot wait: where a workload
 * needs that, the continuation is queued by what it waits for. Locks are those of
 * pthreads, held by a call. */
#include "bench/peers/naive/naive.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    SPAWNS = 1000000,
    WAVE = 200,
    CHAINS = 300,
    DEPTH = 1000,
    YIELDERS = 200,
    YIELDS = 1000,
    PAIRS = 1000,
    PAIR_TURNS = 50,
    ROUNDS = 100000,
    ALONE = 1000000,
    TASKS = 1000,
    TIMES = 1000,
    TURNS = 200,
    RIVALS = 2,
    SECTIONS = 20000,
    SECTION_NS = 1000,
    PERMITS = 10,
    WRITES = 10,
    MESSAGES = 1000000,
    ROOM = 1024,
    WAKES = 300,
    INJECTIONS = 100,
    PAUSE_NS = 1000000,
    POLL_NS = 1000,
    PIECES = 20000,
    PIECE_NS = 10000,
};

/* --- as bench_spawn.c */

static void empty(struct call *c)
{
    free(c);
    done();
}

static void spawn_remote(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    start_pool(w->arg ? (unsigned)w->arg : bench_workers());
    expect(SPAWNS);
    start = bench_now();
    for (int i = 0; i < SPAWNS; i++)
        spawn(empty, 0);
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

static void spawner(struct call *c)
{
    free(c);
    for (int i = 0; i < SPAWNS; i++)
        spawn(empty, 0);
}

static void spawn_local(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    start_pool(w->arg ? (unsigned)w->arg : bench_workers());
    expect(SPAWNS);
    start = bench_now();
    spawn(spawner, 0);
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

static void spawn_local_200(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    start = bench_now();
    waves(WAVE, SPAWNS / WAVE);
    *ret = bench_per_op(start, SPAWNS);
}

static void link_run(struct call *c)
{
    long n = c->n;

    free(c);
    if (n > 1)
        spawn(link_run, n - 1);
    else
        bench_gate_open();
}

static void chained_spawn(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    start = bench_now();
    for (int i = 0; i < CHAINS; i++) {
        spawn(link_run, DEPTH);
        bench_gate_wait();
    }
    *ret = bench_per_op(start, (uint64_t)CHAINS * DEPTH);
}

static void yielder(struct call *c)
{
    if (c->n-- > 0) {
        put(c);
        return;
    }
    free(c);
    done();
}

static void yield_many(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    expect(YIELDERS);
    start = bench_now();
    for (int i = 0; i < YIELDERS; i++)
        spawn(yielder, YIELDS);
    bench_gate_wait();
    *ret = bench_per_op(start, (uint64_t)YIELDERS * YIELDS);
}

/* The other end of a pair, and then the first one's second half. */
static void ponger(struct call *c)
{
    free(c);
    spawn(empty, 0);
}

static void pinger(struct call *c)
{
    free(c);
    spawn(ponger, 0);
}

static void pairs(struct call *c)
{
    free(c);
    for (int i = 0; i < PAIRS; i++)
        spawn(pinger, 0);
}

static void ping_pong(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    start = bench_now();
    for (int i = 0; i < PAIR_TURNS; i++) {
        expect(PAIRS);
        spawn(pairs, 0);
        bench_gate_wait();
    }
    *ret = bench_per_op(start, (uint64_t)PAIR_TURNS * PAIRS);
}

static struct call players[2];

static void player(struct call *c)
{
    if (c->n-- > 0)
        put(&players[c == &players[0]]);
    else
        bench_gate_open();
}

static void one_pair(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    for (int i = 0; i < 2; i++)
        players[i] = (struct call){.run = player, .n = ROUNDS};
    start = bench_now();
    put(&players[0]);
    bench_gate_wait();
    *ret = bench_per_op(start, ROUNDS);
}

/* --- as bench_sync.c */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static uint64_t inside;

static void mutex_user(struct call *c)
{
    for (; c->n > 0; c->n--) {
        pthread_mutex_lock(&mutex);
        inside++;
        pthread_mutex_unlock(&mutex);
    }
    free(c);
    done();
}

/* A yield is a call put back. */
static void mutex_turn(struct call *c)
{
    if (c->n == 0) {
        free(c);
        done();
        return;
    }
    c->n--;
    pthread_mutex_lock(&mutex);
    inside++;
    pthread_mutex_unlock(&mutex);
    put(c);
}

static void mutex_rival(struct call *c)
{
    for (; c->n > 0; c->n--) {
        pthread_mutex_lock(&mutex);
        inside++;
        bench_burn(SECTION_NS);
        pthread_mutex_unlock(&mutex);
    }
    free(c);
    done();
}

static void reader(struct call *c)
{
    for (; c->n > 0; c->n--) {
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
    }
    free(c);
    done();
}

static void use_mixed(long n)
{
    if (n % WRITES == 0) {
        pthread_rwlock_wrlock(&rwlock);
        inside++;
    } else {
        pthread_rwlock_rdlock(&rwlock);
    }
    pthread_rwlock_unlock(&rwlock);
}

static void mixed(struct call *c)
{
    for (; c->n > 0; c->n--)
        use_mixed(c->n);
    free(c);
    done();
}

static void mixed_turn(struct call *c)
{
    if (c->n == 0) {
        free(c);
        done();
        return;
    }
    use_mixed(c->n--);
    put(c);
}

static void sem_user(struct call *c)
{
    for (; c->n > 0; c->n--) {
        sem_wait(&sem);
        sem_post(&sem);
    }
    free(c);
    done();
}

/* exclusive: acquisitions that count themselves. */
static void users(void (*run)(struct call *c), int tasks, int times, uint64_t exclusive,
                  double *ret)
{
    uint64_t start;

    start_default();
    sem_init(&sem, 0, PERMITS);
    inside = 0;
    expect(tasks);
    start = bench_now();
    for (int i = 0; i < tasks; i++)
        spawn(run, times);
    bench_gate_wait();
    *ret = bench_per_op(start, (uint64_t)tasks * (uint64_t)times);
    if (inside != exclusive)
        bench_die("a section is missing");
}

#define USERS(name, run, tasks, times, exclusive)                                        \
    static void name(const struct bench_workload *w, double *ret)                        \
    {                                                                                    \
        (void)w;                                                                         \
        users(run, tasks, times, exclusive, ret);                                        \
    }
USERS(mutex_uncontended, mutex_user, 1, ALONE, ALONE)
USERS(rwlock_read_uncontended, reader, 1, ALONE, 0)
USERS(semaphore_uncontended, sem_user, 1, ALONE, 0)
USERS(mutex_contended, mutex_user, TASKS, TIMES, TASKS *TIMES)
USERS(mutex_turns, mutex_turn, TASKS, TURNS, TASKS *TURNS)
USERS(mutex_1us, mutex_rival, RIVALS, SECTIONS, RIVALS *SECTIONS)
USERS(semaphore_contended, sem_user, TASKS, TIMES, 0)
USERS(rwlock_mixed, mixed, TASKS, TIMES, TASKS *TIMES / WRITES)
USERS(rwlock_turns, mixed_turn, TASKS, TURNS, TASKS *TURNS / WRITES)

static struct {
    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t filled, room;
    uint64_t ring[ROOM];
    unsigned head, tail;
} channel = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .filled = PTHREAD_COND_INITIALIZER,
             .room = PTHREAD_COND_INITIALIZER};

static void *producer(void *arg)
{
    for (long n = *(long *)arg; n > 0; n--) {
        pthread_mutex_lock(&channel.lock);
        while (channel.tail - channel.head == ROOM)
            pthread_cond_wait(&channel.room, &channel.lock);
        channel.ring[channel.tail++ % ROOM] = (uint64_t)n;
        pthread_cond_signal(&channel.filled);
        pthread_mutex_unlock(&channel.lock);
    }
    return NULL;
}

/* Producers wait, so they are threads of their own here. */
static void mpsc(const struct bench_workload *w, double *ret)
{
    long each = MESSAGES / w->arg;
    uint64_t start = bench_now();
    pthread_t thread[4];

    for (int i = 0; i < w->arg; i++) {
        if (pthread_create(&thread[i], NULL, producer, &each) != 0)
            bench_die("cannot start a thread");
    }
    for (int i = 0; i < MESSAGES; i++) {
        pthread_mutex_lock(&channel.lock);
        while (channel.tail == channel.head)
            pthread_cond_wait(&channel.filled, &channel.lock);
        inside += channel.ring[channel.head++ % ROOM];
        pthread_cond_signal(&channel.room);
        pthread_mutex_unlock(&channel.lock);
    }
    for (int i = 0; i < w->arg; i++)
        pthread_join(thread[i], NULL);
    *ret = bench_per_op(start, MESSAGES);
}

/* --- as bench_latency.c */

static _Atomic uint64_t stamp;
static atomic_bool stop;

static void stamped(struct call *c)
{
    free(c);
    atomic_store(&stamp, bench_now());
    bench_gate_open();
}

static void busy(struct call *c)
{
    if (atomic_load(&stop)) {
        free(c);
        done();
        return;
    }
    bench_burn(POLL_NS);
    put(c);
}

static void latencies(int n, double *ret)
{
    double us[WAKES];

    for (int i = 0; i < n; i++) {
        uint64_t start;

        bench_sleep(PAUSE_NS);
        start = bench_now();
        spawn(stamped, 0);
        if (!bench_gate_comes())
            bench_die("an injected call was not run for seconds");
        us[i] = (double)(atomic_load(&stamp) - start) / 1000;
    }
    ret[0] = bench_quantile(us, (size_t)n, 0.5);
    ret[1] = bench_quantile(us, (size_t)n, 0.99);
}

static void wake(const struct bench_workload *w, double *ret)
{
    (void)w;
    start_default();
    latencies(WAKES, ret);
}

static void inject(const struct bench_workload *w, double *ret)
{
    start_default();
    atomic_store(&stop, false);
    expect(w->arg);
    for (int i = 0; i < w->arg; i++)
        spawn(busy, 0);
    latencies(INJECTIONS, ret);
    atomic_store(&stop, true);
    bench_gate_wait();
}

static void piece(struct call *c)
{
    free(c);
    bench_burn(PIECE_NS);
    done();
}

static void divider(struct call *c)
{
    free(c);
    for (int i = 0; i < PIECES; i++)
        spawn(piece, 0);
}

static void imbalance(const struct bench_workload *w, double *ret)
{
    uint64_t start;

    (void)w;
    start_default();
    expect(PIECES);
    start = bench_now();
    spawn(divider, 0);
    bench_gate_wait();
    *ret = (double)PIECES * PIECE_NS / bench_processors() / (double)(bench_now() - start);
}

static void idle(const struct bench_workload *w, double *ret)
{
    (void)w;
    start_default();
    expect(1);
    spawn(empty, 0);
    bench_gate_wait();
    bench_sleep(900000000);
    bench_idle(1, &ret[0], &ret[1]);
}

#define TIME                                                                             \
    {                                                                                    \
        {                                                                                \
            "time", "ns", NULL, false                                                    \
        }                                                                                \
    }
#define P50_P99                                                                          \
    {                                                                                    \
        {"p50", "us", NULL, false}, {"p99", "us", NULL, false},                          \
    }

#define LOAD                                                                             \
    {                                                                                    \
        {"time", "ns", NULL, false}, BENCH_LOAD_METRICS,                                 \
    }

static const struct bench_workload workloads[] = {
    {"spawn_remote", TIME, spawn_remote, 0, false},
    {"spawn_remote_1w", TIME, spawn_remote, 1, false},
    {"spawn_remote_4w", TIME, spawn_remote, 4, false},
    {"spawn_remote_8w", TIME, spawn_remote, 8, false},
    {"spawn_local", TIME, spawn_local, 0, false},
    {"spawn_local_1w", TIME, spawn_local, 1, false},
    {"spawn_local_200", TIME, spawn_local_200, 0, false},
    {"chained_spawn", TIME, chained_spawn, 0, false},
    {"yield_many", TIME, yield_many, 0, false},
    {"ping_pong", TIME, ping_pong, 0, false},
    {"one_pair", TIME, one_pair, 0, false},
    {"mutex_uncontended", TIME, mutex_uncontended, 0, false},
    {"rwlock_read_uncontended", TIME, rwlock_read_uncontended, 0, false},
    {"semaphore_uncontended", TIME, semaphore_uncontended, 0, false},
    {"mutex_contended", TIME, mutex_contended, 0, false},
    {"mutex_turns", TIME, mutex_turns, 0, false},
    {"mutex_1us", TIME, mutex_1us, 0, false},
    {"semaphore_contended", TIME, semaphore_contended, 0, false},
    {"rwlock_mixed", TIME, rwlock_mixed, 0, false},
    {"rwlock_turns", TIME, rwlock_turns, 0, false},
    {"mpsc_1", TIME, mpsc, 1, false},
    {"mpsc_4", TIME, mpsc, 4, false},
    {"wake", P50_P99, wake, 0, false},
    {"inject_64", P50_P99, inject, 64, false},
    {"inject_1024", P50_P99, inject, 1024, false},
    {"imbalance", {{"used", "part", NULL, true}}, imbalance, 0, false},
    {"idle",
     {{"switches", "/s", NULL, false}, {"cpu", "us/s", NULL, false}},
     idle,
     0,
     true},
    {"echo_1", LOAD, naive_echo, 1, false},
    {"echo_4", LOAD, naive_echo, 4, false},
    {"echo_64", LOAD, naive_echo, 64, false},
    {"skew", LOAD, naive_skew, 0, false},
    {"fork_join", LOAD, naive_fib, 24, false},
    {"fork_scope", LOAD, naive_fib, 28, false},
    {"fork_10k", LOAD, naive_fork_10k, 0, false},
    {"join_set", LOAD, naive_join_set, 0, false},
    {"canary",
     {{"late_p99", "ms", NULL, false}, {"late_max", "ms", NULL, false}},
     naive_canary,
     0,
     true},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, "naive", workloads,
                      sizeof(workloads) / sizeof(workloads[0]));
}

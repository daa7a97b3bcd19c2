/* As the canary of bench_time.c. Timers are what one writes first: a heap of deadlines
 * under a mutex, and a thread that waits for the earliest and queues its call. */
#include "bench/peers/naive/naive.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum {
    MILLION = 1000000,
    CANARY = 2000,
};
#define CANARY_NS       1000000ull
#define MILLION_FROM_NS 1000000000ull
#define MILLION_NS      40000000000ull

struct timer {
    uint64_t at;
    struct call *call;
};

static struct {
    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t earlier;
    struct timer heap[MILLION + 1];
    size_t n;
} timers = {.lock = PTHREAD_MUTEX_INITIALIZER, .earlier = PTHREAD_COND_INITIALIZER};

static double late[CANARY];

/* Queues the call at that time. */
static void put_at(uint64_t at, struct call *c)
{
    size_t i;

    pthread_mutex_lock(&timers.lock);
    for (i = timers.n++; i > 0 && timers.heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
        timers.heap[i] = timers.heap[(i - 1) / 2];
    timers.heap[i] = (struct timer){at, c};
    if (i == 0)
        pthread_cond_signal(&timers.earlier);
    pthread_mutex_unlock(&timers.lock);
}

/* Lock held, n > 0. */
static struct call *take_earliest(void)
{
    struct call *c = timers.heap[0].call;
    struct timer last = timers.heap[--timers.n];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < timers.n && timers.heap[child + 1].at < timers.heap[child].at)
            child++;
        if (child >= timers.n || timers.heap[child].at >= last.at)
            break;
        timers.heap[i] = timers.heap[child];
        i = child;
    }
    timers.heap[i] = last;
    return c;
}

static void *timer_thread(void *arg)
{
    pthread_mutex_lock(&timers.lock);
    for (;;) {
        uint64_t at = timers.n > 0 ? timers.heap[0].at : UINT64_MAX;
        struct timespec t = {(time_t)(at / 1000000000), (long)(at % 1000000000)};
        struct call *c;

        if (at > bench_now()) {
            pthread_cond_clockwait(&timers.earlier, &timers.lock, CLOCK_MONOTONIC, &t);
            continue;
        }
        c = take_earliest();
        pthread_mutex_unlock(&timers.lock);
        put(c);
        pthread_mutex_lock(&timers.lock);
    }
    return arg;
}

static void sleeper(struct call *c)
{
    free(c);
}

struct canary {
    struct call call;
    uint64_t at;
};

static void canary(struct call *c)
{
    struct canary *s = (struct canary *)c;

    late[c->n++] = (double)(bench_now() - s->at) / 1e6;
    if (c->n == CANARY) {
        bench_gate_open();
        return;
    }
    s->at = bench_now() + CANARY_NS;
    put_at(s->at, c);
}

void naive_canary(const struct bench_workload *w, double *ret)
{
    static struct canary one = {.call.run = canary};
    uint64_t begin = bench_now() + MILLION_FROM_NS;
    pthread_t thread;

    (void)w;
    start_default();
    if (pthread_create(&thread, NULL, timer_thread, NULL) != 0)
        bench_die("cannot start a thread");
    for (uint64_t i = 0; i < MILLION; i++) {
        struct call *c = malloc(sizeof(*c));

        if (!c)
            bench_die("out of memory");
        c->run = sleeper;
        put_at(begin + i * 7919 % MILLION * (MILLION_NS / MILLION), c);
    }
    one.at = bench_now() + CANARY_NS;
    put_at(one.at, &one.call);
    bench_gate_wait();
    ret[0] = bench_quantile(late, CANARY, 0.99);
    ret[1] = bench_quantile(late, CANARY, 1);
}

/* See floor.h. A probe takes the least of several short stretches: a limit is what the
 * machine can do, and whatever else runs on it only adds. But two threads that are to be
 * in each other's way go faster when one of them is kept off its processor: there it is
 * the median. */
#include "bench/floor.h"

#include "base/atomic.h"
#include "bench/harness.h"

#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STRETCHES = 7, ALIGN = VOLT_CACHE_LINE };

static struct {
    _Alignas(ALIGN) vat_u32 word;
    _Alignas(ALIGN) vat_u32 counter;
    _Alignas(ALIGN) vat_u32 lock;
    _Alignas(ALIGN) vat_u32 arrived;
    _Alignas(ALIGN) vat_u64 stamp;
} shared;

/* A stretch answers nanoseconds per operation. */
static double of_stretches(double (*stretch)(void), double q)
{
    double ns[STRETCHES];

    for (int i = 0; i < STRETCHES; i++)
        ns[i] = stretch();
    return bench_quantile(ns, STRETCHES, q);
}

#define LEAST  0.0
#define MEDIAN 0.5
#define DEFINE_PROBE(name, quantile)                                                     \
    double floor_##name(void)                                                            \
    {                                                                                    \
        static double value;                                                             \
        if (value == 0)                                                                  \
            value = of_stretches(name, quantile);                                        \
        return value;                                                                    \
    }

/* --- one thread */

static double rmw(void)
{
    enum { N = 100000 };
    uint64_t start = bench_now();

    for (int i = 0; i < N; i++)
        (void)vat_u32_add(&shared.word, 1, VAT_AR);
    return bench_per_op(start, N);
}
DEFINE_PROBE(rmw, LEAST)

static void lock_pair(vat_u32 *lock)
{
    for (uint32_t free = 0; !vat_u32_cas(lock, &free, 1, VAT_ACQ, VAT_RLX); free = 0)
        vat_pause();
    for (uint32_t held = 1; !vat_u32_cas(lock, &held, 0, VAT_REL, VAT_RLX); held = 1)
        ;
}

static double cas_pair(void)
{
    enum { N = 100000 };
    uint64_t start = bench_now();

    for (int i = 0; i < N; i++)
        lock_pair(&shared.lock);
    return bench_per_op(start, N);
}
DEFINE_PROBE(cas_pair, LEAST)

static int called;
static void callee(void)
{
    called++;
    __asm__ __volatile__("" ::: "memory");
}

static double call(void)
{
    enum { N = 100000 };
    void (*volatile target)(void) = callee; /* or the compiler knows it */
    uint64_t start = bench_now();

    for (int i = 0; i < N; i++)
        target();
    return bench_per_op(start, N);
}
DEFINE_PROBE(call, LEAST)

static double touch(void)
{
    enum { N = 1 << 18, STEP = 128 / sizeof(uint64_t) };
    static uint64_t *memory;
    uint64_t start;

    if (!memory && !(memory = malloc((size_t)N * 128)))
        bench_die("out of memory");
    start = bench_now();
    for (size_t i = 0; i < (size_t)N * STEP; i += STEP) {
        memory[i] = i;
        memory[i + STEP / 2] = i;
        __asm__ __volatile__("" ::: "memory");
    }
    return bench_per_op(start, N);
}
DEFINE_PROBE(touch, LEAST)

static double clock_read(void)
{
    enum { N = 10000 };
    uint64_t start = bench_now();

    for (int i = 1; i < N; i++)
        (void)bench_now();
    return bench_per_op(start, N);
}
DEFINE_PROBE(clock_read, LEAST)

static double eventfd_trip(void)
{
    enum { N = 2000 };
    int fd = eventfd(0, EFD_CLOEXEC);
    eventfd_t v;
    uint64_t start = bench_now();

    for (int i = 0; i < N; i++) {
        if (eventfd_write(fd, 1) < 0 || eventfd_read(fd, &v) < 0)
            bench_die("eventfd");
    }
    close(fd);
    return bench_per_op(start, N);
}
DEFINE_PROBE(eventfd_trip, LEAST)

/* --- two threads, each on a processor of its own */

/* Both threads go on once both are here. */
static void meet(void)
{
    (void)vat_u32_add(&shared.arrived, 1, VAT_AR);
    while (vat_u32_load(&shared.arrived, VAT_ACQ) < 2)
        vat_pause();
}

/* Runs `other` beside `mine`, both at once; answers the nanoseconds that `mine` took, or
 * NaN where there is one processor only. */
static double two(void *(*other)(void *), void *(*mine)(void *))
{
    cpu_set_t all, one;
    pthread_t thread;
    int cpus[2], found = 0;
    uint64_t start;
    double ns;

    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        return NAN;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++) {
        if (CPU_ISSET(i, &all))
            cpus[found++] = i;
    }
    if (found < 2)
        return NAN;
    CPU_ZERO(&one);
    CPU_SET(cpus[1], &one);
    vat_u32_store(&shared.arrived, 0, VAT_RLX);
    vat_u32_store(&shared.counter, 0, VAT_RLX);
    vat_u64_store(&shared.stamp, 0, VAT_RLX);
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        bench_die("cannot start a thread");
    (void)pthread_setaffinity_np(thread, sizeof(one), &one);
    CPU_ZERO(&one);
    CPU_SET(cpus[0], &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    meet();
    start = bench_now();
    mine(&shared);
    ns = (double)(bench_now() - start);
    pthread_join(thread, NULL);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
    return ns;
}

enum { ADDS = 200000 };

static void *adds(void *arg)
{
    if (!arg)
        meet();
    for (int i = 0; i < ADDS; i++)
        (void)vat_u32_add(&shared.counter, 1, VAT_AR);
    return NULL;
}

static double shared_add(void)
{
    return two(adds, adds) / (2 * ADDS);
}
DEFINE_PROBE(shared_add, MEDIAN)

static void *pairs(void *arg)
{
    if (!arg)
        meet();
    for (int i = 0; i < ADDS; i++)
        lock_pair(&shared.lock);
    return NULL;
}

static double shared_pair(void)
{
    return two(pairs, pairs) / (2 * ADDS);
}
DEFINE_PROBE(shared_pair, MEDIAN)

enum { RING = 1024, MESSAGES = 100000 };
static struct {
    _Alignas(ALIGN) vat_u32 head;
    _Alignas(ALIGN) vat_u32 tail;
    _Alignas(ALIGN) uint64_t slot[RING];
} ring;

static void *receive(void *arg)
{
    uint32_t tail = 0;

    meet();
    for (uint32_t i = 0; i < MESSAGES; i++) {
        while (tail == i) {
            tail = vat_u32_load(&ring.tail, VAT_ACQ);
            vat_pause();
        }
        called += (int)ring.slot[i % RING];
        if (i % 64 == 63)
            vat_u32_store(&ring.head, i + 1, VAT_REL);
    }
    vat_u32_store(&ring.head, MESSAGES, VAT_REL);
    return arg;
}

static void *deliver(void *arg)
{
    uint32_t head = 0;

    for (uint32_t i = 0; i < MESSAGES; i++) {
        while (i - head >= RING) {
            head = vat_u32_load(&ring.head, VAT_ACQ);
            vat_pause();
        }
        ring.slot[i % RING] = i;
        vat_u32_store(&ring.tail, i + 1, VAT_REL);
    }
    while (vat_u32_load(&ring.head, VAT_ACQ) < MESSAGES)
        vat_pause();
    return arg;
}

static double message(void)
{
    vat_u32_store(&ring.head, 0, VAT_RLX);
    vat_u32_store(&ring.tail, 0, VAT_RLX);
    return two(receive, deliver) / MESSAGES;
}
DEFINE_PROBE(message, LEAST)

enum { TRIPS = 4000 };

static void *answer(void *arg)
{
    meet();
    for (uint32_t i = 1; i < 2 * TRIPS; i += 2) {
        while (vat_u32_load(&shared.counter, VAT_ACQ) != i)
            ;
        vat_u32_store(&shared.counter, i + 1, VAT_REL);
    }
    return arg;
}

static void *ask(void *arg)
{
    for (uint32_t i = 0; i < 2 * TRIPS; i += 2) {
        vat_u32_store(&shared.counter, i + 1, VAT_REL);
        while (vat_u32_load(&shared.counter, VAT_ACQ) != i + 2)
            ;
    }
    return arg;
}

static double core_to_core(void)
{
    return two(answer, ask) / TRIPS;
}
DEFINE_PROBE(core_to_core, LEAST)

/* --- waking and sleeping */

static void futex_wait(vat_u32 *word, uint32_t seen)
{
    while (vat_u32_load(word, VAT_ACQ) == seen)
        (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL);
}

static void futex_set(vat_u32 *word, uint32_t value)
{
    vat_u32_store(word, value, VAT_SC);
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

enum { FUTEX_TRIPS = 500, WAKES = 300 };

static void *futex_answer(void *arg)
{
    meet();
    for (uint32_t i = 0; i < 2 * FUTEX_TRIPS; i += 2) {
        futex_wait(&shared.counter, i);
        futex_set(&shared.counter, i + 2);
    }
    return arg;
}

static void *futex_ask(void *arg)
{
    for (uint32_t i = 0; i < 2 * FUTEX_TRIPS; i += 2) {
        futex_set(&shared.counter, i + 1);
        futex_wait(&shared.counter, i + 1);
    }
    return arg;
}

static double futex_trip(void)
{
    return two(futex_answer, futex_ask) / FUTEX_TRIPS;
}
DEFINE_PROBE(futex_trip, MEDIAN)

static void nap(uint64_t ns)
{
    struct timespec t = {0, (long)ns};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

/* Sleeps on the futex, says when it woke. */
static void *sleeper(void *arg)
{
    meet();
    for (uint32_t i = 0; i < WAKES; i++) {
        futex_wait(&shared.counter, i);
        vat_u64_store(&shared.stamp, bench_now(), VAT_REL);
    }
    return arg;
}

static double wake_us[WAKES];

static void *waker(void *arg)
{
    for (uint32_t i = 0; i < WAKES; i++) {
        uint64_t start, woken;

        nap(1000000);
        vat_u64_store(&shared.stamp, 0, VAT_RLX);
        start = bench_now();
        futex_set(&shared.counter, i + 1);
        while (!(woken = vat_u64_load(&shared.stamp, VAT_ACQ)))
            sched_yield();
        wake_us[i] = (double)(woken - start) / 1000;
    }
    return arg;
}

static double wake(double q)
{
    static double ns;

    if (ns == 0)
        ns = two(sleeper, waker);
    return isnan(ns) ? NAN : bench_quantile(wake_us, WAKES, q);
}
double floor_wake_p50(void)
{
    return wake(0.5);
}
double floor_wake_p99(void)
{
    return wake(0.99);
}

static double sleep_late(double q)
{
    enum { SLEEPS = 200 };
    static double us[SLEEPS];

    if (us[0] == 0) {
        int slack = prctl(PR_GET_TIMERSLACK);

        (void)prctl(PR_SET_TIMERSLACK, 1UL);
        for (int i = 0; i < SLEEPS; i++) {
            uint64_t start = bench_now();

            nap(500000);
            us[i] = (double)(bench_now() - start - 500000) / 1000;
        }
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
    }
    return bench_quantile(us, SLEEPS, q);
}
double floor_sleep_p50(void)
{
    return sleep_late(0.5);
}
double floor_sleep_p99(void)
{
    return sleep_late(0.99);
}

enum { PIECES = 20000, PIECE_NS = 10000 };

static void *pieces(void *arg)
{
    if (!arg)
        meet();
    while (vat_u32_add(&shared.counter, 1, VAT_AR) < PIECES)
        bench_burn(PIECE_NS);
    return arg;
}

double floor_share(void)
{
    return (double)PIECES * PIECE_NS / 2 / two(pieces, pieces);
}

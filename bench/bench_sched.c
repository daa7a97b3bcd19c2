/* Costs of the scheduler, one JSON line per workload: median, least and most of 7 runs
 * after one to warm up, wall nanoseconds per operation.
 *
 *   bench_sched [--workers N] [--runs N] [WORKLOAD...]
 *
 *   spawn_remote   empty tasks spawned by a thread that is no worker
 *   spawn_local    empty tasks spawned at once by one task
 *   yield_many     200 tasks that yield 1000 times each; per yield
 *   ping_pong      two tasks that wake each other in turns; per round */
#include "base/atomic.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volt/volt.h>

enum { SPAWNS = 1000000, YIELDERS = 200, YIELDS = 1000, ROUNDS = 100000, MAX_RUNS = 99 };

static struct volt_runtime *rt;
static vat_u32 left;
static struct volt_join done; /* of the task that waits for the end of the workload */

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_sched: %s\n", what);
    exit(1);
}

static void spawn(void *state, struct volt_join *join)
{
    if (!state || volt_task_spawn(state, join) < 0)
        die("cannot spawn");
}

/* The end: the task that counts `left` down to 0 wakes it. */
static struct volt_waker end_waker;
static vat_u32 end_ready;

static enum volt_poll end_poll(struct volt_cx *cx, void *state)
{
    int *armed = state;

    if (!*armed) {
        *armed = 1;
        end_waker = volt_waker_new(cx);
        vat_u32_store(&end_ready, 1, VAT_REL);
    }
    return vat_u32_load(&left, VAT_ACQ) ? VOLT_PENDING : VOLT_READY;
}

static const struct volt_task_type end_type = {
    .name = "end", .size = sizeof(int), .poll = end_poll};

static void begin(uint32_t tasks)
{
    vat_u32_store(&left, tasks, VAT_RLX);
    vat_u32_store(&end_ready, 0, VAT_RLX);
    spawn(volt_task_new(rt, &end_type), &done);
    while (!vat_u32_load(&end_ready, VAT_ACQ))
        vat_pause();
}

static void finish(void)
{
    volt_join_wait(&done);
    volt_join_fini(&done);
    volt_waker_fini(&end_waker);
}

static void one_less(void)
{
    if (vat_u32_sub(&left, 1, VAT_AR) == 1)
        volt_waker_wake(&end_waker);
}

static enum volt_poll empty_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    one_less();
    return VOLT_READY;
}

static const struct volt_task_type empty_type = {
    .name = "empty", .size = 8, .poll = empty_poll};

static enum volt_poll spawner_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    for (int i = 0; i < SPAWNS; i++)
        spawn(volt_task_new(volt_cx_runtime(cx), &empty_type), NULL);
    return VOLT_READY;
}

static const struct volt_task_type spawner_type = {
    .name = "spawner", .size = 8, .poll = spawner_poll};

static enum volt_poll yielder_poll(struct volt_cx *cx, void *state)
{
    int *n = state;

    if ((*n)++ < YIELDS) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    one_less();
    return VOLT_READY;
}

static const struct volt_task_type yielder_type = {
    .name = "yielder", .size = sizeof(int), .poll = yielder_poll};

/* Each polls in turns; the other's waker stands in `peer`. */
static struct volt_waker peer[2];
static vat_u32 turn, armed;

struct player {
    int me, rounds, known;
};

static enum volt_poll player_poll(struct volt_cx *cx, void *state)
{
    struct player *p = state;

    if (!p->known) {
        p->known = 1;
        peer[p->me] = volt_waker_new(cx);
        vat_u32_add(&armed, 1, VAT_AR);
    }
    if (vat_u32_load(&armed, VAT_ACQ) < 2 ||
        vat_u32_load(&turn, VAT_ACQ) != (uint32_t)p->me) {
        if (vat_u32_load(&armed, VAT_ACQ) < 2)
            volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    p->rounds++;
    vat_u32_store(&turn, (uint32_t)!p->me, VAT_REL);
    volt_waker_wake(&peer[!p->me]);
    if (p->rounds < ROUNDS)
        return VOLT_PENDING;
    one_less();
    return VOLT_READY;
}

static const struct volt_task_type player_type = {
    .name = "player", .size = sizeof(struct player), .poll = player_poll};

/* --- workloads: return the number of operations ------------------------------------- */

static uint64_t spawn_remote(void)
{
    for (int i = 0; i < SPAWNS; i++)
        spawn(volt_task_new(rt, &empty_type), NULL);
    return SPAWNS;
}

static uint64_t spawn_local(void)
{
    spawn(volt_task_new(rt, &spawner_type), NULL);
    return SPAWNS;
}

static uint64_t yield_many(void)
{
    for (int i = 0; i < YIELDERS; i++)
        spawn(volt_task_new(rt, &yielder_type), NULL);
    return (uint64_t)YIELDERS * YIELDS;
}

static uint64_t ping_pong(void)
{
    vat_u32_store(&turn, 0, VAT_RLX);
    vat_u32_store(&armed, 0, VAT_RLX);
    for (int i = 0; i < 2; i++) {
        struct player *p = volt_task_new(rt, &player_type);

        if (!p)
            die("out of memory");
        p->me = i;
        spawn(p, NULL);
    }
    return ROUNDS;
}

static const struct workload {
    const char *name;
    uint32_t tasks;
    uint64_t (*start)(void);
} workloads[] = {
    {"spawn_remote", SPAWNS, spawn_remote},
    {"spawn_local", SPAWNS, spawn_local},
    {"yield_many", YIELDERS, yield_many},
    {"ping_pong", 2, ping_pong},
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const struct workload *w, int runs)
{
    double ns[MAX_RUNS];

    for (int i = -1; i < runs; i++) {
        begin(w->tasks);
        uint64_t start = clock_ns(), n = w->start();
        finish();
        if (i >= 0)
            ns[i] = (double)(clock_ns() - start) / (double)n;
        for (int k = 0; k < 2; k++)
            volt_waker_fini(&peer[k]);
    }
    qsort(ns, (size_t)runs, sizeof(ns[0]), by_value);
    printf("{\"workload\": \"%s\", \"workers\": %u, \"unit\": \"ns\", \"median\": %.1f, "
           "\"min\": %.1f, \"max\": %.1f, \"runs\": %d}\n",
           w->name, volt_runtime_workers(rt), ns[runs / 2], ns[0], ns[runs - 1], runs);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct volt_options opt = {.workers = 2};
    int runs = 7, first = 1;

    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--workers") == 0)
            opt.workers = (unsigned)atoi(argv[first + 1]);
        else if (strcmp(argv[first], "--runs") == 0)
            runs = atoi(argv[first + 1]);
    }
    if (runs < 1 || runs > MAX_RUNS || volt_runtime_new(&opt, &rt) < 0)
        die("cannot start");
    for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++) {
        bool wanted = first >= argc;

        for (int a = first; a < argc; a++)
            wanted |= strcmp(argv[a], workloads[i].name) == 0;
        if (wanted)
            measure(&workloads[i], runs);
    }
    volt_runtime_free(rt);
    return 0;
}

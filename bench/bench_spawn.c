/* Starting tasks, turning them over, and waking one with another. Nanoseconds of wall
 * time per operation.
 *
 *   spawn_remote[_1w _4w _8w]  a million empty tasks from a thread that is no worker, with
 *                              two workers, or 1, 4, 8
 *   spawn_local[_1w]           a million at once from inside one task
 *   spawn_local_200            the same, but the task waits for them every 200
 *   chained_spawn              a task spawns the next and ends, 1000 deep; per task
 *   yield_many                 200 tasks yield 1000 times each; per yield
 *   ping_pong                  1000 pairs made anew: a task spawns another, sends to it by a
 *                              oneshot and gets the answer by a second one; per pair
 *   one_pair                   two tasks notify each other in turns; per round */
#include "bench/tasks.h"

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
};

/* --- limits: the steps that cannot be left out; see floor.h */

/* New memory is written here and there, the last one is counted; one goes from ready to
 * running to done. */
static double limit_spawn_remote(void)
{
    return 2 * floor_touch() + floor_message() + floor_shared_add() + 3 * floor_rmw() +
           floor_call();
}

static double limit_spawn_local(void)
{
    return 2 * floor_touch() + floor_shared_add() + 2 * floor_rmw() + floor_call();
}

static double limit_spawn_local_1w(void)
{
    return floor_touch() + 3 * floor_rmw() + floor_call();
}

/* The memory is warm. */
static double limit_spawn_local_200(void)
{
    return 3 * floor_rmw() + floor_shared_add() + floor_call();
}

static double limit_chained_spawn(void)
{
    return 5 * floor_rmw() + floor_call();
}

static double limit_yield_many(void)
{
    return (3 * floor_rmw() + 2 * floor_call()) / bench_processors();
}

/* Two spawns, two oneshots, two wakes. */
static double limit_ping_pong(void)
{
    return 2 * (floor_touch() + 3 * floor_rmw() + floor_call()) +
           2 * (4 * floor_rmw() + 2 * floor_rmw() + floor_call());
}

static double limit_one_pair(void)
{
    return 2 * (5 * floor_rmw() + floor_call());
}

/* --- spawning */

static enum volt_poll empty_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(empty, 0);

static void spawn_remote(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(w->arg ? (unsigned)w->arg : bench_workers());
    uint64_t start;

    bench_tasks_expect(SPAWNS);
    start = bench_now();
    for (int i = 0; i < SPAWNS; i++)
        bench_spawn(bench_task(rt, &empty_type));
    bench_gate_wait();
    *ret = bench_per_op(start, SPAWNS);
}

static enum volt_poll spawner_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    for (int i = 0; i < SPAWNS; i++)
        bench_spawn(bench_task(volt_cx_runtime(cx), &empty_type));
    return VOLT_READY;
}
BENCH_TYPE(spawner, 0);

/* Spawns the first task of a workload from main and waits for the end of all. */
static void run_from(struct volt_runtime *rt, const struct volt_task_type *type,
                     uint32_t tasks, uint64_t operations, double *ret)
{
    uint64_t start;

    bench_tasks_expect(tasks);
    start = bench_now();
    bench_spawn(bench_task(rt, type));
    bench_gate_wait();
    *ret = bench_per_op(start, operations);
}

static void spawn_local(const struct bench_workload *w, double *ret)
{
    run_from(bench_runtime(w->arg ? (unsigned)w->arg : bench_workers()), &spawner_type,
             SPAWNS, SPAWNS, ret);
}

/* The children of a wave count down; the last one notifies the parent. */
static vat_u32 wave_left;
static struct volt_notify wave_end;

static enum volt_poll wave_child_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    if (vat_u32_sub(&wave_left, 1, VAT_AR) == 1)
        volt_notify_one(&wave_end);
    return VOLT_READY;
}
BENCH_TYPE(wave_child, 0);

struct wave {
    int at, n;
    struct volt_notified end;
};

static enum volt_poll wave_poll(struct volt_cx *cx, void *state)
{
    struct wave *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < SPAWNS / WAVE; s->n++) {
        vat_u32_store(&wave_left, WAVE, VAT_RLX);
        for (int i = 0; i < WAVE; i++)
            bench_spawn(bench_task(volt_cx_runtime(cx), &wave_child_type));
        volt_notified_init(&s->end, &wave_end);
        VOLT_AWAIT(s->at, volt_notified_poll(cx, &s->end));
        volt_notified_fini(&s->end);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(wave, sizeof(struct wave));

static void spawn_local_200(const struct bench_workload *w, double *ret)
{
    (void)w;
    volt_notify_init(&wave_end);
    run_from(bench_runtime(bench_workers()), &wave_type, 1, SPAWNS, ret);
}

static const struct volt_task_type link_type;

static enum volt_poll link_poll(struct volt_cx *cx, void *state)
{
    int *left = state;

    if (--*left > 0) {
        int *next = bench_task(volt_cx_runtime(cx), &link_type);

        *next = *left;
        bench_spawn(next);
    } else {
        bench_task_done();
    }
    return VOLT_READY;
}
BENCH_TYPE(link, sizeof(int));

static void chained_spawn(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start = bench_now();

    (void)w;
    for (int i = 0; i < CHAINS; i++) {
        int *first = bench_task(rt, &link_type);

        *first = DEPTH;
        bench_tasks_expect(1);
        bench_spawn(first);
        bench_gate_wait();
    }
    *ret = bench_per_op(start, (uint64_t)CHAINS * DEPTH);
}

/* --- turns */

struct yielder {
    int at, n;
    struct volt_yield yield;
};

static enum volt_poll yielder_poll(struct volt_cx *cx, void *state)
{
    struct yielder *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < YIELDS; s->n++) {
        s->yield = (struct volt_yield){0};
        VOLT_AWAIT(s->at, volt_yield_poll(cx, &s->yield));
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(yielder, sizeof(struct yielder));

static void yield_many(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    (void)w;
    bench_tasks_expect(YIELDERS);
    start = bench_now();
    for (int i = 0; i < YIELDERS; i++)
        bench_spawn(bench_task(rt, &yielder_type));
    bench_gate_wait();
    *ret = bench_per_op(start, (uint64_t)YIELDERS * YIELDS);
}

/* --- pairs */

struct ponger {
    struct volt_oneshot_recv ball;
    struct volt_oneshot *answer;
    int value;
};

static enum volt_poll ponger_poll(struct volt_cx *cx, void *state)
{
    struct ponger *s = state;

    if (volt_oneshot_recv_poll(cx, &s->ball) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_oneshot_recv_fini(&s->ball);
    (void)volt_oneshot_try_send(s->answer, &s->value);
    return VOLT_READY;
}
BENCH_TYPE(ponger, sizeof(struct ponger));

struct pinger {
    struct volt_oneshot_recv answer;
    int value;
};

static enum volt_poll pinger_poll(struct volt_cx *cx, void *state)
{
    struct pinger *s = state;
    int value = 1;

    if (!s->answer.oneshot) {
        struct ponger *other = bench_task(volt_cx_runtime(cx), &ponger_type);
        struct volt_oneshot *ball = volt_oneshot_new(sizeof(int));

        struct volt_oneshot *answer = volt_oneshot_new(sizeof(int));

        if (!ball || !answer)
            bench_die("out of memory");
        volt_oneshot_recv_init(&s->answer, answer, &s->value);
        volt_oneshot_recv_init(&other->ball, ball, &other->value);
        other->answer = answer;
        bench_spawn(other);
        (void)volt_oneshot_try_send(ball, &value);
    }
    if (volt_oneshot_recv_poll(cx, &s->answer) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_oneshot_recv_fini(&s->answer);
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(pinger, sizeof(struct pinger));

static enum volt_poll pairs_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    for (int i = 0; i < PAIRS; i++)
        bench_spawn(bench_task(volt_cx_runtime(cx), &pinger_type));
    return VOLT_READY;
}
BENCH_TYPE(pairs, 0);

static void ping_pong(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start = bench_now();

    (void)w;
    for (int i = 0; i < PAIR_TURNS; i++) {
        bench_tasks_expect(PAIRS);
        bench_spawn(bench_task(rt, &pairs_type));
        bench_gate_wait();
    }
    *ret = bench_per_op(start, (uint64_t)PAIR_TURNS * PAIRS);
}

struct player {
    int at, n;
    struct volt_notify *mine, *other;
    struct volt_notified wait;
};
static struct volt_notify turn[2];

static enum volt_poll player_poll(struct volt_cx *cx, void *state)
{
    struct player *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < ROUNDS; s->n++) {
        volt_notified_init(&s->wait, s->mine);
        VOLT_AWAIT(s->at, volt_notified_poll(cx, &s->wait));
        volt_notified_fini(&s->wait);
        volt_notify_one(s->other);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(player, sizeof(struct player));

static void one_pair(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    (void)w;
    volt_notify_init(&turn[0]);
    volt_notify_init(&turn[1]);
    bench_tasks_expect(2);
    start = bench_now();
    for (int i = 0; i < 2; i++) {
        struct player *s = bench_task(rt, &player_type);

        s->mine = &turn[i];
        s->other = &turn[!i];
        bench_spawn(s);
    }
    volt_notify_one(&turn[0]);
    bench_gate_wait();
    *ret = bench_per_op(start, ROUNDS);
}

static const struct bench_workload workloads[] = {
    {"spawn_remote", BENCH_TIME(limit_spawn_remote), spawn_remote, 0, false},
    {"spawn_remote_1w", BENCH_TIME(limit_spawn_remote), spawn_remote, 1, false},
    {"spawn_remote_4w", BENCH_TIME(limit_spawn_remote), spawn_remote, 4, false},
    {"spawn_remote_8w", BENCH_TIME(limit_spawn_remote), spawn_remote, 8, false},
    {"spawn_local", BENCH_TIME(limit_spawn_local), spawn_local, 0, false},
    {"spawn_local_1w", BENCH_TIME(limit_spawn_local_1w), spawn_local, 1, false},
    {"spawn_local_200", BENCH_TIME(limit_spawn_local_200), spawn_local_200, 0, false},
    {"chained_spawn", BENCH_TIME(limit_chained_spawn), chained_spawn, 0, false},
    {"yield_many", BENCH_TIME(limit_yield_many), yield_many, 0, false},
    {"ping_pong", BENCH_TIME(limit_ping_pong), ping_pong, 0, false},
    {"one_pair", BENCH_TIME(limit_one_pair), one_pair, 0, false},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}

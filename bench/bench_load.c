/* Loads on which a second worker may help, and must not cost: each is to be run with one
 * worker and with more (--workers). Nanoseconds of wall time per operation, and per 1,000
 * operations the switches of threads, and those of them that the system forced.
 *
 *   echo_1 _4 _64  TCP over loopback, 64 bytes there and back over so many connections.
 *                  One thread that is no worker is all clients: it writes to every
 *                  connection, then reads from every one. A task per connection. Per
 *                  answer
 *   skew           20,000 tasks from one, 90 % of 100 ns, 10 % of 20 us; per task
 *   turns          1,000 tasks that wake themselves, with polls of 5 us: the longest time
 *                  between two polls of one task, in rounds of all of them
 *   fork_join      fib(24) with a task per call, both children awaited; per task
 *   fork_scope     fib(28) likewise, but the children are a scope's; per task
 *   fork_10k       a task spawns 10,000 with handles and awaits them; per task
 *   join_set       a task spawns 1,000 into a join set and takes what each has left, in
 *                  the order of their ends; per task */
#include "bench/echo.h"
#include "bench/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ECHOES = 6400, /* a multiple of 10 times each number of connections */
    SKEWED = 20000,
    SHORT_NS = 100,
    LONG_NS = 20000,
    TURNERS = 1000,
    TURNS = 100,
    TURN_NS = 5000,
    FIB = 24,
    FIB_CALLS = 150049,
    FIB_SCOPE = 28,
    FIB_SCOPE_CALLS = 1028457,
    FORKED = 10000,
    FORKS = 20,
    SET = 1000,
    SETS = 200,
};

/* --- echo */

struct echo {
    int at, fd;
    struct volt_io io;
    ssize_t got, put;
    char buf[ECHO_BYTES];
};

static enum volt_poll echo_poll(struct volt_cx *cx, void *state)
{
    struct echo *e = state;

    VOLT_BEGIN(e->at);
    for (;;) {
        VOLT_AWAIT(e->at, volt_io_read_poll(cx, &e->io, e->buf, sizeof(e->buf), &e->got));
        if (e->got <= 0)
            break;
        VOLT_AWAIT(e->at,
                   volt_io_write_poll(cx, &e->io, e->buf, (size_t)e->got, &e->put));
        if (e->put != e->got)
            break;
    }
    VOLT_END(e->at);
}

static void echo_drop(void *state)
{
    struct echo *e = state;

    volt_io_fini(&e->io);
    close(e->fd);
    bench_task_done();
}

static const struct volt_task_type echo_type = {
    .name = "echo",
    .size = sizeof(struct echo),
    .poll = echo_poll,
    .drop = echo_drop,
};

static void echo(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    int client[ECHO_CONNECTIONS], server[ECHO_CONNECTIONS], n = w->arg;
    struct bench_load load;

    echo_connect(client, server, n);
    bench_tasks_expect((uint32_t)n);
    for (int i = 0; i < n; i++) {
        struct echo *e = bench_task(rt, &echo_type);

        e->fd = server[i];
        if (volt_io_init(&e->io, rt, e->fd) < 0)
            bench_die("cannot register");
        bench_spawn(e);
    }
    echo_ask(client, n, ECHOES / 10);
    load = bench_load_begin();
    echo_ask(client, n, ECHOES);
    bench_load_end(&load, ECHOES, ret);
    echo_hang_up(client, n);
    bench_gate_wait();
}

/* --- skew */

static enum volt_poll short_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    bench_burn(SHORT_NS);
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(short, 0);

static enum volt_poll long_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    bench_burn(LONG_NS);
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(long, 0);

static enum volt_poll mixer_poll(struct volt_cx *cx, void *state)
{
    (void)state;
    for (int i = 0; i < SKEWED; i++)
        bench_spawn(bench_task(volt_cx_runtime(cx), i % 10 ? &short_type : &long_type));
    return VOLT_READY;
}
BENCH_TYPE(mixer, 0);

static void skew(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    struct bench_load load;

    (void)w;
    bench_tasks_expect(SKEWED);
    load = bench_load_begin();
    bench_spawn(bench_task(rt, &mixer_type));
    bench_gate_wait();
    bench_load_end(&load, SKEWED, ret);
}

static double limit_skew(void)
{
    return (SHORT_NS * 0.9 + LONG_NS * 0.1) / bench_processors();
}

/* --- turns */

struct turner {
    uint64_t last, longest;
    int left, index;
};

static double gaps[TURNERS];

static enum volt_poll turner_poll(struct volt_cx *cx, void *state)
{
    struct turner *t = state;
    uint64_t now = bench_now();

    if (t->last && now - t->last > t->longest)
        t->longest = now - t->last;
    t->last = now;
    bench_burn(TURN_NS);
    if (--t->left > 0) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    gaps[t->index] = (double)t->longest;
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(turner, sizeof(struct turner));

static void turns(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    unsigned workers =
        bench_workers() < bench_processors() ? bench_workers() : bench_processors();

    (void)w;
    bench_tasks_expect(TURNERS);
    for (int i = 0; i < TURNERS; i++) {
        struct turner *t = bench_task(rt, &turner_type);

        *t = (struct turner){.left = TURNS, .index = i};
        bench_spawn(t);
    }
    bench_gate_wait();
    ret[0] = bench_quantile(gaps, TURNERS, 1) * workers / ((double)TURNERS * TURN_NS);
}

static double one_round(void)
{
    return 1;
}

/* --- fork and join */

struct fib {
    int at, n;
    uint64_t calls; /* of its whole tree */
    struct volt_join child[2];
};

static enum volt_poll fib_poll(struct volt_cx *cx, void *state);

static void fib_drop(void *state)
{
    struct fib *f = state;

    volt_join_fini(&f->child[0]);
    volt_join_fini(&f->child[1]);
}

static const struct volt_task_type fib_type = {
    .name = "fib",
    .size = sizeof(struct fib),
    .poll = fib_poll,
    .drop = fib_drop,
};

static enum volt_poll fib_poll(struct volt_cx *cx, void *state)
{
    struct fib *f = state;

    VOLT_BEGIN(f->at);
    f->calls = 1;
    if (f->n >= 2) {
        for (int i = 0; i < 2; i++) {
            struct fib *c = bench_task(volt_cx_runtime(cx), &fib_type);

            c->n = f->n - 1 - i;
            if (volt_task_spawn(c, &f->child[i]) < 0)
                bench_die("cannot spawn");
        }
        VOLT_AWAIT(f->at, volt_join_poll(cx, &f->child[0]));
        VOLT_AWAIT(f->at, volt_join_poll(cx, &f->child[1]));
        for (int i = 0; i < 2; i++)
            f->calls += ((struct fib *)volt_join_state(&f->child[i]))->calls;
    }
    VOLT_END(f->at);
}

static void fork_join(const struct bench_workload *w, double *ret)
{
    struct fib *f = bench_task(bench_runtime(bench_workers()), &fib_type);
    struct volt_join join;
    struct bench_load load = bench_load_begin();

    (void)w;
    f->n = FIB;
    if (volt_task_spawn(f, &join) < 0 || volt_join_wait(&join) < 0)
        bench_die("cannot spawn");
    bench_load_end(&load, FIB_CALLS, ret);
    if (((struct fib *)volt_join_state(&join))->calls != FIB_CALLS)
        bench_die("a call is missing");
    volt_join_fini(&join);
}

struct scoped {
    int at, n;
    uint64_t calls;
    struct volt_scope children;
};

static enum volt_poll scoped_poll(struct volt_cx *cx, void *state);

static void scoped_drop(void *state)
{
    struct scoped *f = state;

    volt_scope_fini(&f->children);
}

static const struct volt_task_type scoped_type = {
    .name = "scoped",
    .size = sizeof(struct scoped),
    .poll = scoped_poll,
    .drop = scoped_drop,
};

static enum volt_poll scoped_poll(struct volt_cx *cx, void *state)
{
    struct scoped *f = state;

    VOLT_BEGIN(f->at);
    f->calls = 1;
    if (f->n >= 2) {
        if (volt_scope_init(cx, &f->children, &scoped_type, 2) < 0)
            bench_die("out of memory");
        for (int i = 0; i < 2; i++)
            ((struct scoped *)volt_scope_child(&f->children, (size_t)i))->n =
                f->n - 1 - i;
        VOLT_AWAIT(f->at, volt_scope_poll(cx, &f->children));
        for (int i = 0; i < 2; i++)
            f->calls +=
                ((struct scoped *)volt_scope_child(&f->children, (size_t)i))->calls;
    }
    VOLT_END(f->at);
}

static void fork_scope(const struct bench_workload *w, double *ret)
{
    struct scoped *f = bench_task(bench_runtime(bench_workers()), &scoped_type);
    struct volt_join join;
    struct bench_load load = bench_load_begin();

    (void)w;
    f->n = FIB_SCOPE;
    if (volt_task_spawn(f, &join) < 0 || volt_join_wait(&join) < 0)
        bench_die("cannot spawn");
    bench_load_end(&load, FIB_SCOPE_CALLS, ret);
    if (((struct scoped *)volt_join_state(&join))->calls != FIB_SCOPE_CALLS)
        bench_die("a call is missing");
    volt_join_fini(&join);
}

struct parent {
    int at, i, turn;
    struct volt_join child[FORKED];
};

static enum volt_poll leaf_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    return VOLT_READY;
}
BENCH_TYPE(leaf, 0);

static enum volt_poll parent_poll(struct volt_cx *cx, void *state)
{
    struct parent *p = state;

    VOLT_BEGIN(p->at);
    for (p->turn = 0; p->turn < FORKS; p->turn++) {
        for (int i = 0; i < FORKED; i++)
            if (volt_task_spawn(bench_task(volt_cx_runtime(cx), &leaf_type),
                                &p->child[i]) < 0)
                bench_die("cannot spawn");
        for (p->i = 0; p->i < FORKED; p->i++) {
            VOLT_AWAIT(p->at, volt_join_poll(cx, &p->child[p->i]));
            volt_join_fini(&p->child[p->i]);
        }
    }
    VOLT_END(p->at);
}
BENCH_TYPE(parent, sizeof(struct parent));

static void fork_10k(const struct bench_workload *w, double *ret)
{
    struct volt_join join;
    struct bench_load load = bench_load_begin();

    (void)w;
    if (volt_task_spawn(bench_task(bench_runtime(bench_workers()), &parent_type), &join) <
            0 ||
        volt_join_wait(&join) < 0)
        bench_die("cannot spawn");
    volt_join_fini(&join);
    bench_load_end(&load, (uint64_t)FORKED * FORKS, ret);
}

struct member {
    uint64_t n; /* its output */
};

static enum volt_poll member_poll(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    return VOLT_READY;
}
BENCH_TYPE(member, sizeof(struct member));

static struct volt_join_set *set_of_members(struct volt_runtime *rt)
{
    struct volt_join_set *set = volt_join_set_new();
    struct volt_join join;

    if (!set)
        bench_die("out of memory");
    for (uint64_t i = 0; i < SET; i++) {
        if (VOLT_SPAWN(rt, &member_type, &join, struct member, .n = i) < 0 ||
            volt_join_set_add(set, &join) < 0)
            bench_die("cannot spawn");
    }
    return set;
}

struct taker {
    int at, turn;
    uint64_t sum;
    struct volt_join_set *set;
    struct volt_join_set_next next;
};

static enum volt_poll taker_poll(struct volt_cx *cx, void *state)
{
    struct taker *s = state;

    VOLT_BEGIN(s->at);
    for (s->turn = 0; s->turn < SETS; s->turn++) {
        s->set = set_of_members(volt_cx_runtime(cx));
        volt_join_set_next_init(&s->next, s->set);
        for (s->sum = 0;;) {
            VOLT_AWAIT(s->at, volt_join_set_next_poll(cx, &s->next));
            if (!s->next.join.task)
                break;
            s->sum += ((struct member *)volt_join_state(&s->next.join))->n;
        }
        if (s->sum != SET * (SET - 1) / 2)
            bench_die("a member is missing");
        volt_join_set_next_fini(&s->next);
        volt_join_set_free(s->set);
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(taker, sizeof(struct taker));

static void join_set(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    struct bench_load load;

    (void)w;
    bench_tasks_expect(1);
    load = bench_load_begin();
    bench_spawn(bench_task(rt, &taker_type));
    bench_gate_wait();
    bench_load_end(&load, SET * SETS, ret);
}

#define LOAD(limit_of) .metrics = {{"time", "ns", limit_of, false}, BENCH_LOAD_METRICS}

static const struct bench_workload workloads[] = {
    {"echo_1", LOAD(NULL), echo, 1, false},
    {"echo_4", LOAD(NULL), echo, 4, false},
    {"echo_64", LOAD(NULL), echo, 64, false},
    {"skew", LOAD(limit_skew), skew, 0, false},
    {"turns", {{"longest", "rounds", one_round, false}}, turns, 0, false},
    {"fork_join", LOAD(NULL), fork_join, 0, false},
    {"fork_scope", LOAD(NULL), fork_scope, 0, false},
    {"fork_10k", LOAD(NULL), fork_10k, 0, false},
    {"join_set", LOAD(NULL), join_set, 0, false},
};

static void report(void)
{
    struct volt_stats st;

    volt_runtime_stats(bench_runtime(bench_workers()), &st);
    fprintf(stderr,
            "# polled %lu wakeups %lu skipped %lu steals %lu stolen %lu parked %lu "
            "spurious %lu\n",
            st.total.polled, st.total.wakeups, st.total.wakeups_skipped,
            st.total.steal_ops, st.total.stolen, st.total.parked,
            st.total.spurious_wakes);
}

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    if (getenv("BENCH_STATS"))
        report();
    bench_runtime_end();
    return r;
}

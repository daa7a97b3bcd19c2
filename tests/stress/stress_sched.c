/* Stress of queue, park and wake: random trees of tasks that spawn, yield, meet in
 * mailboxes, join and cancel each other, have scopes, driven by foreign threads, in rounds. No timeout
 * helps a lost wake: the round then hangs, and the alarm ends the program.
 *
 * Options: tests/support/stress.h.
 *
 * After each round, conservation: every state dropped once, every output dropped once,
 * spawned = completed; in rounds that end by themselves also: queues empty, nobody
 * searches, every worker parked. */
#include "base/clock.h"
#include "runtime/runtime.h"
#include "tests/support/stress.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

enum { BOXES = 16, CHILDREN = 3, INJECTORS = 2, BATCH = 24, MAGIC = 0x5eed };

#define ROUND_NS UINT64_C(100000000)

static struct stress st;
static vat_ptr box[BOXES]; /* tasks, with a reference, that wait for anybody */
static vat_u32 made, dropped, outputs, outputs_dropped, closing, flush_stop;

struct node {
    struct rng rng;
    int depth, steps, started, ended;
    unsigned children, next;
    struct volt_join child[CHILDREN];
    struct volt_yield yield;
    struct volt_scope scope;
    bool scoped; /* its scope is done, or it has none */
    int output;
};

static enum volt_poll node_poll(struct volt_cx *cx, void *state);

static void node_drop(void *state)
{
    struct node *n = state;

    for (unsigned i = 0; i < CHILDREN; i++)
        volt_join_fini(&n->child[i]);
    volt_scope_fini(&n->scope);
    vat_u32_add(&dropped, 1, VAT_RLX);
}

static void node_drop_output(void *state)
{
    struct node *n = state;

    CHECK(n->output == MAGIC);
    n->output = 0;
    vat_u32_add(&outputs_dropped, 1, VAT_RLX);
}

static const struct volt_task_type node_type = {
    .name = "node",
    .size = sizeof(struct node),
    .poll = node_poll,
    .drop = node_drop,
    .drop_output = node_drop_output,
};

static enum volt_poll blocking_poll(struct volt_cx *cx, void *state)
{
    struct node *n = state;

    (void)cx;
    CHECK(!n->ended++);
    n->output = MAGIC;
    vat_u32_add(&outputs, 1, VAT_RLX);
    return VOLT_READY;
}

static const struct volt_task_type blocking_type = {
    .name = "blocking",
    .size = sizeof(struct node),
    .poll = blocking_poll,
    .drop = node_drop,
    .drop_output = node_drop_output,
};

static void node_init(struct node *n, uint32_t from, int depth)
{
    rng_init(&n->rng, from, 1);
    n->depth = depth;
    n->steps = (int)rng_below(&n->rng, 6);
    vat_u32_add(&made, 1, VAT_RLX);
}

static void spawn_node(uint32_t from, int depth, struct volt_join *join)
{
    bool blocking = depth == 0 && from % 64 == 0;
    struct node *n =
        volt_task_new(st.rt[from % st.runtimes], blocking ? &blocking_type : &node_type);

    CHECK(n);
    node_init(n, from, depth);
    int r = blocking ? volt_task_spawn_blocking(n, join) : volt_task_spawn(n, join);
    CHECK(r == 0 || (r == -ESHUTDOWN && vat_u32_load(&closing, VAT_ACQ)));
}

static void wake_box(uint32_t i, void *with)
{
    struct volt_waker other = {vat_ptr_xchg(&box[i], with, VAT_AR)};

    volt_waker_wake(&other);
    volt_waker_fini(&other);
}

static void start_children(struct node *n)
{
    n->started = 1;
    n->children = n->depth > 0 ? rng_below(&n->rng, CHILDREN + 1) : 0;
    for (unsigned i = 0; i < n->children; i++) {
        bool detached = rng_below(&n->rng, 8) == 0;

        spawn_node(rng_next(&n->rng), n->depth - 1, detached ? NULL : &n->child[i]);
    }
    if (n->depth > 0 && rng_below(&n->rng, 256) == 0) /* more than a ring holds */
        for (uint32_t i = rng_below(&n->rng, 3 * RING_CAPACITY); i; i--)
            spawn_node(rng_next(&n->rng), 0, NULL);
}

static enum volt_poll join_children(struct volt_cx *cx, struct node *n)
{
    for (; n->next < n->children; n->next++) {
        struct volt_join *j = &n->child[n->next];

        if (!j->task)
            continue;
        if (rng_below(&n->rng, 16) == 0)
            volt_join_cancel(j);
        if (rng_below(&n->rng, 16) == 0) {
            volt_join_fini(j);
            continue;
        }
        if (volt_join_poll(cx, j) == VOLT_PENDING)
            return VOLT_PENDING;
        if (volt_join_status(j) == 0)
            CHECK(((struct node *)volt_join_state(j))->output == MAGIC);
        else
            CHECK(volt_join_status(j) == -ECANCELED);
        volt_join_fini(j);
    }
    return VOLT_READY;
}

/* A few children with theirs, seldom more than forks hold without; or none. */
static enum volt_poll run_scope(struct volt_cx *cx, struct node *n)
{
    if (!n->scope.count) {
        bool many = rng_below(&n->rng, 64) == 0;
        uint32_t count = n->depth == 0 || rng_below(&n->rng, 2)
                             ? 0
                             : 1 + rng_below(&n->rng, many ? 2 * FORKS_CAPACITY : 3);
        if (count == 0)
            return VOLT_READY;
        CHECK(volt_scope_init(cx, &n->scope, &node_type, count) == 0);
        for (uint32_t i = 0; i < count; i++)
            node_init(volt_scope_child(&n->scope, i), rng_next(&n->rng),
                      many ? 0 : n->depth - 1);
    }
    if (volt_scope_poll(cx, &n->scope) == VOLT_PENDING)
        return VOLT_PENDING;
    for (size_t i = 0; i < n->scope.count; i++) {
        int r = volt_scope_status(&n->scope, i);

        if (r == 0)
            CHECK(((struct node *)volt_scope_child(&n->scope, i))->output == MAGIC);
        else
            CHECK(r == -ECANCELED);
    }
    return VOLT_READY;
}

static enum volt_poll node_poll(struct volt_cx *cx, void *state)
{
    struct node *n = state;

    CHECK(!n->ended);
    if (!n->started)
        start_children(n);
    while (n->steps > 0) {
        n->steps--;
        switch (rng_below(&n->rng, 4)) {
        case 0:
            volt_cx_wake(cx);
            return VOLT_PENDING;
        case 1: /* wait in a box; whoever comes next takes us out */
            wake_box(rng_below(&n->rng, BOXES), volt_waker_new(cx).task);
            return VOLT_PENDING;
        case 2:
            wake_box(rng_below(&n->rng, BOXES), NULL);
            break;
        default:
            for (uint32_t i = rng_below(&n->rng, 2000); i; i--)
                vat_pause();
        }
    }
    if (!n->scoped && run_scope(cx, n) == VOLT_PENDING)
        return VOLT_PENDING;
    n->scoped = true;
    if (join_children(cx, n) == VOLT_PENDING)
        return VOLT_PENDING;
    n->ended = 1;
    n->output = MAGIC;
    vat_u32_add(&outputs, 1, VAT_RLX);
    return VOLT_READY;
}

/* --- foreign threads ---------------------------------------------------------------- */

struct injector {
    pthread_t thread;
    struct rng rng;
    uint64_t until;
};

static void *inject_main(void *arg)
{
    struct injector *in = arg;
    struct volt_join join[BATCH] = {{0}};

    do {
        unsigned n = 1 + rng_below(&in->rng, BATCH);

        for (unsigned i = 0; i < n; i++)
            spawn_node(rng_next(&in->rng), (int)rng_below(&in->rng, 5),
                       rng_below(&in->rng, 8) ? &join[i] : NULL);
        for (unsigned i = 0; i < n; i++) {
            if (!join[i].task)
                continue;
            if (rng_below(&in->rng, 16) == 0)
                volt_join_cancel(&join[i]);
            int r = volt_join_wait(&join[i]);
            CHECK(r == 0 || r == -ECANCELED);
            volt_join_fini(&join[i]);
        }
        if (rng_below(&in->rng, 4) == 0) /* let everybody fall asleep */
            usleep(rng_below(&in->rng, 2000));
    } while (clock_ns() < in->until && !vat_u32_load(&closing, VAT_RLX));
    return NULL;
}

/* Takes out who has been left in a box. */
static void *flush_main(void *arg)
{
    (void)arg;
    while (!vat_u32_load(&flush_stop, VAT_ACQ)) {
        for (uint32_t i = 0; i < BOXES; i++)
            wake_box(i, NULL);
        usleep(200);
    }
    return NULL;
}

/* --- rounds ------------------------------------------------------------------------- */

static void check_empty(const struct sched *s)
{
    CHECK(idle_searchers(&s->idle) == 0);
    CHECK(!inject_visible(&s->inject) && !inject_visible(&s->spill));
    for (uint32_t i = 0; i < s->workers; i++) {
        CHECK(ring_len(&s->worker[i].ring) == 0);
        CHECK(vat_ptr_load(&s->worker[i].lifo, VAT_RLX) == NULL);
        CHECK(!forks_visible(&s->worker[i].forks));
    }
}

/* Polling is for the test only: these states are reached without any further event. */
static void check_quiet(void)
{
    struct volt_stats stats;

    do {
        usleep(100);
        stats = stress_stats(&st);
    } while (stats.live > 0 || stats.workers_parked < stats.workers);
    CHECK(stats.global_depth == 0);
    for (unsigned i = 0; i < st.runtimes; i++)
        check_empty(&st.rt[i]->sched);
}

/* Every third round with all workers, the others with some of them. */
static unsigned some_workers(struct rng *rng)
{
    return st.round % 3 == 1 ? st.workers : 1 + rng_below(rng, st.workers);
}

static void one_round(void)
{
    struct rng rng;
    rng_init(&rng, st.seed, 0);
    struct volt_options opt = {.disable_stealing = rng_below(&rng, 8) == 0};
    bool abrupt = rng_below(&rng, 3) == 0;
    struct injector in[INJECTORS];
    struct volt_stats stats;
    pthread_t flusher;

    vat_u32_store(&closing, 0, VAT_RLX);
    vat_u32_store(&flush_stop, 0, VAT_RLX);
    stress_start(&st, some_workers(&rng), &opt);
    CHECK(pthread_create(&flusher, NULL, flush_main, NULL) == 0);
    for (int i = 0; i < INJECTORS; i++) {
        rng_init(&in[i].rng, rng_next(&rng), (uint32_t)i);
        in[i].until = clock_ns() + ROUND_NS;
        CHECK(pthread_create(&in[i].thread, NULL, inject_main, &in[i]) == 0);
    }
    if (abrupt) {
        usleep(ROUND_NS / 2000);
        vat_u32_store(&closing, 1, VAT_REL);
        stress_stop(&st);
    }
    for (int i = 0; i < INJECTORS; i++)
        pthread_join(in[i].thread, NULL);
    if (!abrupt)
        check_quiet();
    vat_u32_store(&flush_stop, 1, VAT_REL);
    pthread_join(flusher, NULL);
    stress_stop(&st);
    stats = stress_stats(&st);
    CHECK(stats.live == 0 && stats.spawned == stats.completed);
    stress_free(&st);
    for (uint32_t i = 0; i < BOXES; i++)
        wake_box(i, NULL); /* wakers outlive the runtime */
    CHECK(vat_u32_load(&made, VAT_ACQ) == vat_u32_load(&dropped, VAT_ACQ));
    CHECK(vat_u32_load(&outputs, VAT_ACQ) == vat_u32_load(&outputs_dropped, VAT_ACQ));
}

int main(int argc, char **argv)
{
    stress_init(&st, argc, argv);
    while (stress_next(&st))
        one_round();
    return 0;
}

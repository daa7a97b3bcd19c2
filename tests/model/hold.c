/* Model of lib/sched/hold.c in real workers: wakes that are held back, where each poll is
 * short or endless by choice. An endless one waits until all other tasks have run, so what
 * is left behind it without a word is a deadlock here.
 *
 * Worker 0 begins with task 0 in its ring. That one queues one or two more, and the first
 * of these, in most scenarios, another; of which type each is (measured as short, or
 * unknown), and whether tasks are queued one by one or as a chain, are choices, too. One
 * poll less than there are workers is endless at most: else they would wait for each
 * other, whatever the workers do.
 *
 * Where a sentinel is said to be there, but does not look round, a poll may be endless
 * only if its worker could not bound it: no poll of its type has ended there, or a wake
 * has been held back for as long as one costs.
 *
 * In a crowd there are three workers and one or two processors, so that a searcher that
 * has found work stays one (search.c). */
#include <string.h>
#include "base/clock.h"
#include "mcx.h"
#include "sched/local.h"

enum { TASKS = 4, WORKERS = 3, HOLD_NS = 1000, SHORT_NS = 400 };

enum how {
    ONE_BY_ONE,
    CHAINED,
    AWAITED, /* as children with handles, on the forks */
};

struct job {
    int number;   /* annotated */
    enum how how; /* its children are queued */
    struct volt_task *child[2];
};

static struct sched *sched;
static struct volt_task *first, *second;
static int polls[TASKS], tasks, ran, workers, lasting;
static bool any_lasts, hands_over, keeps, measured[WORKERS];
static uint64_t slept_ns, own_ns[MCX_THREADS], own_step, queued_ns[MCX_THREADS];
static vat_u32 given; /* number of the worker that another thread is to be, + 1 */
static bool is_given;

/* A clock for each thread, which goes on with each look. */
uint64_t clock_ns(void)
{
    own_ns[mcx_self()] += own_step;
    return slept_ns + own_ns[mcx_self()];
}

void mcx_time_passed(uint64_t ns)
{
    slept_ns += ns; /* of a sentinel */
}

/* --- tasks -------------------------------------------------------------------------- */

static bool others_ran(void *arg)
{
    (void)arg;
    return ran >= tasks - lasting;
}

/* Into the slot and the ring, or the forks; by an endless poll not into the slot: what
 * lies there is for sentinels, held back or not. */
static void queue_children(struct worker *w, struct job *j, bool endless)
{
    struct task_chain chain = {0};

    for (int i = 0; i < 2 && j->child[i]; i++) {
        struct job *c = task_state(j->child[i]);

        VAT_WR(&c->number);
        if (j->how == CHAINED && j->child[1])
            task_chain_push(&chain, j->child[i]);
        else if (j->how == AWAITED && endless)
            worker_push_child(w, j->child[i]);
        else if (j->how == AWAITED)
            worker_schedule_child(w, j->child[i]);
        else if (endless)
            worker_push(w, j->child[i]);
        else
            sched_submit(j->child[i]);
    }
    sched_submit_chain(&chain);
    w->cx->awaits = j->how == AWAITED;
    if (j->child[0])
        queued_ns[mcx_self()] = own_ns[mcx_self()];
}

static enum volt_poll poll_job(struct volt_cx *cx, void *state);

/* Beside each other, so that a worker has a place for each, wherever they lie. */
static const struct volt_task_type types[2] __attribute__((aligned(128))) = {
    {.name = "short", .size = sizeof(struct job), .poll = poll_job},
    {.name = "unknown", .size = sizeof(struct job), .poll = poll_job},
};
#define SHORT   (&types[0]) /* all workers have measured one */
#define UNKNOWN (&types[1])

/* May the poll that begins be endless? The last look at the clock was the one before it. */
static bool may_last(struct volt_cx *cx, const struct job *j)
{
    mcx_model_read();
    if (lasting == workers - 1)
        return false;
    if (any_lasts || (keeps && j->number == 0) ||
        (cx->task->type == UNKNOWN && !measured[cx->worker->index]))
        return true;
    return !j->child[0] && own_ns[mcx_self()] - queued_ns[mcx_self()] >= HOLD_NS;
}

static enum volt_poll poll_job(struct volt_cx *cx, void *state)
{
    struct job *j = state;
    bool endless = may_last(cx, j) && mcx_choose(2);

    VAT_RD(&j->number);
    mcx_note("task %d is %s", j->number, endless ? "endless" : "short");
    polls[j->number]++;
    lasting += endless;
    queue_children(cx->worker, j, endless);
    if (hands_over && j->number == 0) {
        uint32_t i = cx->worker->index;

        worker_quit(cx);
        vat_u32_store(&given, i + 1, VAT_REL);
        is_given = true;
    }
    if (keeps && j->number == 0) { /* no other thread could be had */
        struct worker *w = cx->worker;

        worker_quit(cx);
        worker_resume(cx, w);
    }
    if (endless)
        mcx_block_until(others_ran, NULL);
    if (cx->worker && cx->task->type == UNKNOWN)
        measured[cx->worker->index] = true;
    ran++;
    return VOLT_READY;
}

static struct volt_task *make(const struct volt_task_type *type)
{
    static const char *const names[TASKS] = {"task 0", "task 1", "task 2", "task 3"};
    struct job *j = volt_task_new((struct volt_runtime *)(void *)sched, type);
    struct volt_task *t = task_of(j);

    task_begin(t, false);
    j->number = tasks;
    mcx_name(t, sizeof(*t), names[tasks]);
    tasks++;
    return t;
}

static const struct volt_task_type *any_type(void)
{
    return mcx_choose(2) ? UNKNOWN : SHORT;
}

/* --- the workers --------------------------------------------------------------------- */

static void start_with(int n, uint32_t cpus)
{
    struct worker *w = mcx_malloc((size_t)n * sizeof(*w));

    workers = n;
    sched = mcx_malloc(sizeof(*sched));
    sched_init(sched, w, (uint32_t)n, true, 1);
    sched->hold_ns = HOLD_NS;
    sched->cpus = cpus;
    for (int i = 0; i < n; i++) {
        if (!mcx_random())
            w[i].rng = (struct rng){0}; /* the first victim is worker 0 */
        mcx_quiet(&w[i].count, offsetof(struct counters, running));
        hold_learn(&w[i], SHORT, SHORT_NS);
    }
    mcx_quiet(&sched->spawned, 3 * sizeof(sched->spawned));
    memset(polls, 0, sizeof(polls));
    memset(own_ns, 0, sizeof(own_ns));
    memset(queued_ns, 0, sizeof(queued_ns));
    tasks = ran = lasting = 0;
    second = NULL;
    memset(measured, 0, sizeof(measured));
    any_lasts = hands_over = keeps = is_given = false;
    slept_ns = own_step = 0;
    vat_u32_init(&given, 0);
}

static void start(void)
{
    start_with(2, 0);
}

/* No sentinel, though one is said to be there. */
static void unguarded(void)
{
    vat_u32_init(&sched->sentinels, 1);
}

static void family(bool grandchild)
{
    struct job *j, *c;

    first = make(any_type());
    j = task_state(first);
    j->how = mcx_choose(3);
    j->child[0] = make(any_type());
    if (mcx_choose(2))
        j->child[1] = make(any_type());
    c = task_state(j->child[0]);
    if (grandchild)
        c->child[0] = make(any_type());
}

static void setup_types(void)
{
    start();
    unguarded();
    family(true);
}

/* Two looks at the clock are as long as a wake costs. */
static void setup_time(void)
{
    start();
    unguarded();
    family(true);
    own_step = HOLD_NS / 2;
}

static void setup_given(void)
{
    start();
    unguarded();
    family(false);
    hands_over = true;
}

/* There is no sentinel, and never will be. */
static void setup_alone(void)
{
    start();
    any_lasts = true;
    family(true);
}

/* A sentinel looks round, or has gone to rest before task 0 comes. */
static void setup_guarded(void)
{
    start();
    any_lasts = true;
    sched->sentinel_usec = 2000;
    first = make(SHORT);
    struct job *j = task_state(first);

    j->how = CHAINED; /* the ring is all that tells the sentinel */
    j->child[0] = make(SHORT);
    j->child[1] = make(SHORT);
}

/* Two processors. What is stolen from behind an endless poll may itself queue such. */
static void setup_crowd(void)
{
    start_with(3, 2);
    unguarded();
    family(true);
}

/* And polls follow each other without a look at the clock. */
static void setup_crowd_quick(void)
{
    setup_crowd();
    for (int i = 0; i < workers; i++)
        sched->worker[i].global_interval.avg_ns = 1000;
}

/* One processor: whoever is called is enough. Two tasks come from outside, the second
 * while the first one runs, or later. */
static void setup_crowd_outside(void)
{
    start_with(3, 1);
    first = make(SHORT);
    second = make(SHORT);
}

static void setup_crowd_alone(void)
{
    setup_crowd_outside();
    any_lasts = true;
}

static void setup_crowd_kept(void)
{
    setup_crowd_outside();
    unguarded();
    keeps = true;
}

static void setup_crowd_guarded(void)
{
    setup_crowd_outside();
    any_lasts = true;
    sched->sentinel_usec = 2000;
}

static void worker(void)
{
    mcx_daemon();
    worker_main(&sched->worker[mcx_self()]);
}

static void worker_first(void)
{
    struct worker *w = &sched->worker[0];

    mcx_daemon();
    worker_set_current(w);
    worker_push(w, first);
    worker_main(w);
}

static bool handed_over(void *arg)
{
    (void)arg;
    return is_given;
}

static void worker_again(void)
{
    mcx_daemon();
    mcx_block_until(handed_over, NULL);
    worker_main(&sched->worker[vat_u32_xchg(&given, 0, VAT_ACQ) - 1]); /* the newest */
}

static bool alone(void *arg)
{
    (void)arg;
    return mcx_alone();
}

static bool has_begun(void *arg)
{
    (void)arg;
    return polls[0] > 0;
}

static void producer(void)
{
    mcx_block_until_any(alone, NULL);
    VAT_WR(&((struct job *)task_state(first))->number);
    sched_submit(first);
    if (!second)
        return;
    mcx_block_until(has_begun, NULL);
    VAT_WR(&((struct job *)task_state(second))->number);
    sched_submit(second);
}

static void finish(void)
{
    uint32_t searching = 0;

    if (ran != tasks)
        mcx_fail("%d of %d tasks ran", ran, tasks);
    for (int i = 0; i < workers; i++)
        searching += sched->worker[i].searching;
    for (int i = 0; i < tasks; i++)
        MCX_CHECK(polls[i] == 1);
    MCX_CHECK(vat_u32_load(&sched->sentinels, VAT_RLX) == (any_lasts ? 0 : 1));
    MCX_CHECK(sched_searchers(sched) == searching);
    MCX_CHECK(sched_parked(sched) == (uint32_t)workers);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "types",
        .promise = "what waits for a poll of a type that may last is announced before it",
        .setup = setup_types,
        .finish = finish,
        .threads = {{"worker 0", worker_first}, {"worker 1", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "time",
        .promise =
            "and before any poll, when it was held back for as long as a wake costs",
        .setup = setup_time,
        .finish = finish,
        .threads = {{"worker 0", worker_first}, {"worker 1", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "given",
        .promise = "and when the worker goes on on another thread",
        .setup = setup_given,
        .finish = finish,
        .threads = {{"worker 0", worker_first},
                    {"worker 1", worker},
                    {"another", worker_again}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "alone",
        .promise = "nothing is held back where no sentinel is",
        .setup = setup_alone,
        .finish = finish,
        .threads = {{"worker 0", worker_first}, {"worker 1", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "guarded",
        .promise =
            "a short poll that lasts for once strands nothing: a sentinel finds it",
        .setup = setup_guarded,
        .finish = finish,
        .threads = {{"worker 0", worker}, {"worker 1", worker}, {"producer", producer}},
        .preempt = 2,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT - 2,
        .dfs = 5000,
    },
    {
        .name = "crowd",
        .promise =
            "a searcher that found work leaves the search before a poll that may last",
        .setup = setup_crowd,
        .finish = finish,
        .threads = {{"worker 0", worker_first},
                    {"worker 1", worker},
                    {"worker 2", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "crowd-quick",
        .promise = "though of polls of one type that follow each other it decides once",
        .setup = setup_crowd_quick,
        .finish = finish,
        .threads = {{"worker 0", worker_first},
                    {"worker 1", worker},
                    {"worker 2", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "crowd-alone",
        .promise = "and before any, where no sentinel is",
        .setup = setup_crowd_alone,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"worker 2", worker},
                    {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 5000,
    },
    {
        .name = "crowd-kept",
        .promise = "and when it wanted to give its worker away, and could not",
        .setup = setup_crowd_kept,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"worker 2", worker},
                    {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 5000,
    },
    {
        .name = "crowd-guarded",
        .promise = "what comes from outside while a searcher's short poll lasts is found "
                   "by a sentinel",
        .setup = setup_crowd_guarded,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"worker 2", worker},
                    {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT - 2,
        .dfs = 5000,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "hold",
    .about = "wakes that are held back, beside polls that are short or endless by choice",
    .scenarios = scenarios,
};

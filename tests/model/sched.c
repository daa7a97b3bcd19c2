/* Model of lib/sched end to end: real workers (worker.c, search.c, submit.c) over the
 * real ring, global queue, idle set and park word, running real tasks; no event loop.
 *
 * Oracle: every submitted task runs although no timeout ever fires (INV-1: a lost wakeup
 * is a deadlock here); where two tasks wait for each other, two workers must have come
 * up; at rest the searchers counted are those that search (INV-4) and each sleeping
 * worker has its bit (INV-5). What a waker wrote before it submitted, the poll sees. */
#include <string.h>
#include "base/clock.h"
#include "mcx.h"
#include "sched/local.h"

#define TASKS 5 /* one more than a ring holds */

enum kind {
    PLAIN,  /* ends at once */
    PARENT, /* pushes its children, then as WAITER */
    SPLIT,  /* pushes its children, and ends */
    WAITER, /* waits inside its poll until task `awaited` has run */
    PAIRED, /* waits inside its poll until as many as `together` are in theirs */
    AGAIN,  /* pending once, woken by itself: back to the ring */
    AWAITS, /* spawns its children with handles, and awaits them */
    LEAVES, /* the same, but does not await them */
};

struct job {
    enum kind kind;
    int payload; /* annotated */
    struct volt_task *child[4];
    int awaited;
};

static struct sched *sched;
static struct volt_task *task[TASKS];
static enum kind job_kind[TASKS];
static int polls[TASKS]; /* apart from the tasks, which are freed */
static int started, together, ran, expected;
static uint64_t now_ns, clock_step;
static bool begun; /* the first of two producers */

uint64_t clock_ns(void)
{
    if (clock_step)
        mcx_model_read();
    now_ns += clock_step;
    return now_ns;
}

/* The clock stands still but for what sentinels sleep. */
void mcx_time_passed(uint64_t ns)
{
    now_ns += ns;
}

static struct job *job_of(struct volt_task *t)
{
    return task_state(t);
}

static bool all_started(void *arg)
{
    (void)arg;
    return started >= together;
}

static bool child_ran(void *arg)
{
    const int *i = arg;

    return polls[*i] > 0;
}

static enum volt_poll poll_job(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    mcx_note("worker %d polls task %d", (int)cx->worker->index, j->payload);
    VAT_RD(&j->payload);
    if (polls[j->payload]++ == 0 && j->kind == AGAIN) {
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    if (j->kind == PARENT || j->kind == SPLIT) {
        VAT_WR(&job_of(j->child[0])->payload); /* for whoever runs it */
        sched_submit(j->child[0]);
        if (j->child[1]) {
            VAT_WR(&job_of(j->child[1])->payload);
            sched_submit(j->child[1]); /* pushes the other one out of the LIFO slot */
        }
    }
    if (j->kind == AWAITS || j->kind == LEAVES) {
        for (int i = 0; i < 4 && j->child[i]; i++) {
            VAT_WR(&job_of(j->child[i])->payload);
            worker_schedule_child(cx->worker, j->child[i]);
        }
        cx->awaits = j->kind == AWAITS;
    }
    for (int i = 0; i < 2 && j->kind == SPLIT; i++)
        mcx_yield(); /* takes its time */
    if (j->kind == PARENT || j->kind == WAITER)
        mcx_block_until(child_ran, &j->awaited);
    if (j->kind == PAIRED) {
        started++;
        mcx_block_until(all_started, NULL);
    }
    ran++;
    return VOLT_READY;
}

static const struct volt_task_type job_type = {
    .name = "job",
    .size = sizeof(struct job),
    .poll = poll_job,
};

/* A task that holds its token, as spawn leaves it. */
static struct volt_task *make(int i, enum kind kind)
{
    static const char *const names[TASKS] = {"task 0", "task 1", "task 2", "task 3",
                                             "task 4"};
    struct job *j = volt_task_new((struct volt_runtime *)(void *)sched, &job_type);
    struct volt_task *t = task_of(j);

    task_begin(t, false);
    j->kind = job_kind[i] = kind;
    j->payload = i;
    mcx_name(t, sizeof(*t), names[i]);
    task[i] = t;
    return t;
}

/* Groups of this size, each with its word of the idle set. */
static void start_groups(uint32_t workers, unsigned size)
{
    static const char *const rings[] = {"ring 0", "ring 1", "ring 2"};
    static const char *const parks[] = {"park 0", "park 1", "park 2"};
    struct worker *w = mcx_malloc(workers * sizeof(*w));

    mcx_group_size = size;
    sched = mcx_malloc(sizeof(*sched));
    if (sched_groups(workers) > 1)
        sched->more = mcx_malloc((sched_groups(workers) - 1) * sizeof(*sched->more));
    sched_init(sched, w, workers, true, 1);
    for (uint32_t i = 0; i < workers; i++) {
        if (!mcx_random())
            w[i].rng = (struct rng){0}; /* stays so: the first victim is worker 0 */
        mcx_quiet(&w[i].count, sizeof(w[i].count));
        mcx_name(&w[i].ring, sizeof(w[i].ring), rings[i]);
        mcx_name(&w[i].park, sizeof(w[i].park), parks[i]);
    }
    mcx_quiet(&sched->spawned, 3 * sizeof(sched->spawned));
    mcx_name(&sched->idle.word, sizeof(sched->idle.word), "idle");
    mcx_name(&sched->inject.in, sizeof(sched->inject.in), "inject.in");
    mcx_name(&sched->inject.out_len, sizeof(sched->inject.out_len), "inject.out_len");
    mcx_name(&sched->stop, sizeof(sched->stop), "stop");
    memset(polls, 0, sizeof(polls));
    started = ran = together = 0;
    now_ns = clock_step = 0;
}

static void start(uint32_t workers)
{
    start_groups(workers, 48);
}

static void setup_one(void)
{
    start(1);
    make(0, PLAIN);
    expected = 1;
}

static void setup_two_producers(void)
{
    start(2);
    make(0, PLAIN);
    make(1, PLAIN);
    expected = 2;
}

static void setup_child(void)
{
    start(2);
    struct job *parent = job_of(make(0, PARENT));

    parent->child[0] = make(1, PLAIN);
    parent->child[1] = make(2, PLAIN);
    parent->awaited = 1;
    expected = 3;
}

/* The newest is in the slot, the others on the forks, or in the ring. */
static void spawned(enum kind kind, int children)
{
    start(2);
    struct job *parent = job_of(make(0, kind));

    for (int i = 0; i < children; i++)
        parent->child[i] = make(i + 1, i < 2 ? PAIRED : PLAIN);
    together = 2;
    expected = children + 1;
}

static void setup_awaited(void)
{
    spawned(AWAITS, 2);
}

static void setup_awaited_four(void)
{
    spawned(AWAITS, 4);
}

static void setup_left(void)
{
    spawned(LEAVES, 3);
}

static void setup_child_three(void)
{
    start(3);
    struct job *parent = job_of(make(0, PARENT));

    parent->child[0] = make(1, PLAIN);
    parent->child[1] = make(2, PLAIN);
    parent->awaited = 1;
    expected = 3;
}

static void setup_pair(void)
{
    start(2);
    make(0, PAIRED);
    make(1, PAIRED);
    expected = together = 2;
}

static void setup_groups_pair(void)
{
    start_groups(2, 1);
    make(0, PAIRED);
    make(1, PAIRED);
    expected = together = 2;
}

static void setup_groups_child(void)
{
    start_groups(2, 1);
    struct job *parent = job_of(make(0, PARENT));

    parent->child[0] = make(1, PLAIN);
    parent->child[1] = make(2, PLAIN);
    parent->awaited = 1;
    expected = 3;
}

static void setup_groups_three(void)
{
    start_groups(3, 2);
    make(0, PAIRED);
    make(1, PAIRED);
    expected = together = 2;
}

/* Worker 0 has work of its own and looks at the global queue at every poll. */
static void setup_periodic(void)
{
    setup_pair();
    make(2, AGAIN);
    expected = 3;
    clock_step = 2 * VOLT_TARGET_GLOBAL_LATENCY_NS;
}

/* The same, by a worker whose polls are shorter: it takes one in passing. */
static void setup_glance(void)
{
    setup_periodic();
    clock_step = VOLT_TARGET_GLOBAL_LATENCY_NS / 100;
}

/* Of two tasks that wait for each other one is injected, the other pushed to its ring by
 * a worker whose poll goes on: the worker that finds one must not leave the other
 * alone. */
static void setup_two_queues(void)
{
    start(3);
    make(0, PAIRED);
    make(1, PAIRED);
    make(2, PLAIN);
    struct job *parent = job_of(make(3, PARENT));

    parent->child[0] = task[1];
    parent->child[1] = task[2];
    parent->awaited = 1;
    together = 2;
    expected = 4;
}

/* What lies in a slot is not announced. Worker 0 runs its poll, or wakes for it. */
static void setup_slot(void)
{
    start(2);
    sched->sentinel_usec = 2000;
    struct job *parent = job_of(make(0, PARENT));

    parent->child[0] = make(1, PLAIN);
    parent->awaited = 1;
    expected = 2;
}

/* The one that is waited for came to the slot when it was not empty. */
static void setup_slot_two(void)
{
    setup_slot();
    job_of(task[0])->child[1] = make(2, PLAIN);
    job_of(task[0])->awaited = 2;
    expected = 3;
}

static void setup_slot_split(void)
{
    start(2);
    make(0, SPLIT);
    job_of(task[0])->child[0] = make(1, PLAIN);
    make(2, PLAIN);
    expected = 3;
}

/* Two look for work while worker 0 runs its poll: who takes from the slot need not be the
 * last to leave the search, whose barrier would order more than the theft does. */
static void setup_slot_split_three(void)
{
    start(3);
    make(0, SPLIT);
    job_of(task[0])->child[0] = make(1, PLAIN);
    expected = 2;
}

/* Searchers look on twice before they sleep: the clock stands still. */
static void spin(void)
{
    sched->spin_most = 1;
}

static void setup_spin(void)
{
    setup_one();
    spin();
}

static void setup_spin_pair(void)
{
    setup_pair();
    spin();
}

/* Worker 0 pushes one more than its ring holds; the first waits for the last. */
static void setup_overflow(void)
{
    start(2);
    for (int i = 0; i < TASKS; i++)
        make(i, PLAIN);
    job_of(task[0])->kind = WAITER;
    job_of(task[0])->awaited = TASKS - 1;
    expected = TASKS;
}

/* Of what was thrown out of its ring worker 0 takes a part, since all are awake, by its
 * periodic look: task 1, which waits for the rest. */
static void setup_spill(void)
{
    start(3);
    for (int i = 0; i < 3; i++)
        make(i, PLAIN);
    job_of(task[1])->kind = WAITER;
    job_of(task[1])->awaited = 2;
    expected = 3;
    clock_step = 2 * VOLT_TARGET_GLOBAL_LATENCY_NS;
}

/* Task 4 was thrown out of worker 0's ring. Task 3 has come there since, and goes behind
 * it when task 0 has had its poll; of what stays the first waits for the other one. */
static void setup_turns(void)
{
    start(2);
    for (int i = 0; i < TASKS; i++)
        make(i, PLAIN);
    job_of(task[1])->kind = WAITER;
    job_of(task[1])->awaited = 2;
    expected = TASKS;
    clock_step = 2 * VOLT_TARGET_GLOBAL_LATENCY_NS;
}

static void worker(void)
{
    mcx_daemon();
    worker_main(&sched->worker[mcx_self()]);
}

static void worker_that_ends(void)
{
    worker_main(&sched->worker[mcx_self()]);
}

/* Awake, with these tasks in its ring. */
static void worker_with(int first, int last)
{
    struct worker *w = &sched->worker[mcx_self()];

    mcx_daemon();
    worker_set_current(w);
    for (int i = first; i <= last; i++)
        worker_push(w, task[i]);
    worker_main(w);
}

static void worker_busy(void)
{
    worker_with(2, 2);
}

static void worker_first(void)
{
    worker_with(0, 0);
}

static void worker_parent(void)
{
    worker_with(3, 3);
}

static void worker_full(void)
{
    worker_with(0, TASKS - 1);
}

/* Awake, with so many tasks in its ring, and the next ones thrown out of it. */
static void worker_with_thrown_out(int own, int out)
{
    struct worker *w = &sched->worker[mcx_self()];
    struct task_chain chain = {0};

    mcx_daemon();
    worker_set_current(w);
    for (int i = 0; i < own; i++)
        worker_push(w, task[i]);
    for (int i = own; i < own + out; i++)
        task_chain_push(&chain, task[i]);
    worker_overflow(w, &chain);
    w->mark = ring_last(&w->ring) - 1;
    worker_main(w);
}

static void worker_spill(void)
{
    worker_with_thrown_out(1, 2);
}

static void worker_turns(void)
{
    worker_with_thrown_out(4, 1);
}

static void submit(int i)
{
    VAT_WR(&job_of(task[i])->payload);
    sched_submit(task[i]);
}

static void producer(void)
{
    begun = true;
    submit(0);
}

static bool alone(void *arg)
{
    (void)arg;
    return mcx_alone();
}

/* Comes when all sleep, before or after the sentinels have gone to rest. */
static void producer_late(void)
{
    mcx_block_until_any(alone, NULL);
    submit(0);
}

static bool has_begun(void *arg)
{
    (void)arg;
    return begun;
}

/* Their tasks are of one kind: that this one comes first is the mirror image of an
 * execution in which the other one does. */
static void producer_2(void)
{
    mcx_block_until(has_begun, NULL);
    submit(1);
}

static void producer_third(void)
{
    submit(2);
}

static void producer_chain(void)
{
    struct task_chain chain = {0};

    task_chain_push(&chain, task[0]);
    task_chain_push(&chain, task[1]);
    sched_submit_chain(&chain);
}

/* So that a producer finds the lock taken, and uses the stack. */
static void lock_holder(void)
{
    vlock_lock(&sched->inject.lock);
    vlock_unlock(&sched->inject.lock);
}

static void spill_lock_holder(void)
{
    vlock_lock(&sched->spill.lock);
    vlock_unlock(&sched->spill.lock);
}

static void stopper(void)
{
    vat_u32_store(&sched->stop, 1, VAT_REL);
    for (uint32_t i = 0; i < sched->workers; i++)
        sched_unpark(sched, i);
}

static void finish(void)
{
    uint32_t searching = 0;

    if (ran != expected)
        mcx_fail("%d of %d tasks ran", ran, expected);
    for (uint32_t i = 0; i < sched->workers; i++)
        searching += sched->worker[i].searching;
    MCX_CHECK(vat_u32_load(&sched->sentinels, VAT_RLX) == 0);
    MCX_CHECK(sched_searchers(sched) == searching);
    MCX_CHECK(sched_parked(sched) == sched->workers);
    for (int i = 0; i < TASKS; i++)
        MCX_CHECK(polls[i] <= 1 || job_kind[i] == AGAIN);
    MCX_CHECK(!inject_visible(&sched->inject));
    MCX_CHECK(!inject_visible(&sched->spill));
}

#define WORKERS                                                                          \
    {"worker 0", worker},                                                                \
    {                                                                                    \
        "worker 1", worker                                                               \
    }
#define BUSY                                                                             \
    {"worker 0", worker_busy},                                                           \
    {                                                                                    \
        "worker 1", worker                                                               \
    }
static const struct mcx_scenario scenarios[] = {
    {
        .name = "one-worker",
        .promise = "a task submitted while the worker goes to sleep wakes it",
        .setup = setup_one,
        .finish = finish,
        .threads = {{"worker 0", worker}, {"producer", producer}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "two-producers",
        .promise = "two submissions, two workers: both tasks run",
        .setup = setup_two_producers,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}, {"producer 2", producer_2}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "pair",
        .promise = "two tasks that wait for each other: two workers come up",
        .setup = setup_pair,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}, {"producer 2", producer_2}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
        .random = 10000,
    },
    {
        .name = "batch",
        .promise = "two tasks of one chain that wait for each other: likewise",
        .setup = setup_pair,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "child",
        .promise = "a task pushed by a poll that goes on is run by somebody else",
        .setup = setup_child,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "child-three",
        .promise = "the same with three workers",
        .setup = setup_child_three,
        .finish = finish,
        .threads = {WORKERS, {"worker 2", worker}, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = -1,
    },
    {
        .name = "awaited",
        .promise = "of two children that wait for each other somebody else runs one",
        .setup = setup_awaited,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "awaited-four",
        .promise = "of four likewise, which are too many for the forks",
        .setup = setup_awaited_four,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "left",
        .promise = "children that nobody awaits are announced in the ring",
        .setup = setup_left,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "stack",
        .promise = "of a chain on the stack somebody takes one: the other is announced",
        .setup = setup_periodic,
        .finish = finish,
        .threads = {BUSY, {"lock holder", lock_holder}, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = -1,
        .random = 6000,
    },
    {
        .name = "periodic",
        .promise =
            "what a busy worker's periodic look leaves behind is announced (INJ-1)",
        .setup = setup_periodic,
        .finish = finish,
        .threads = {BUSY, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "glance",
        .promise = "what a busy worker's glance leaves behind is announced (INJ-1)",
        .setup = setup_glance,
        .finish = finish,
        .threads = {BUSY, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "two-queues",
        .promise = "a worker that finds work while it parks leaves no other work alone",
        .setup = setup_two_queues,
        .finish = finish,
        .threads = {WORKERS, {"worker 2", worker_parent}, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "groups-pair",
        .promise = "a group for each worker: two tasks that wait for each other find two",
        .setup = setup_groups_pair,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}, {"producer 2", producer_2}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "groups-child",
        .promise = "a task pushed by a poll that goes on is run by another group",
        .setup = setup_groups_child,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "groups-three",
        .promise = "a group of two and a group of one: likewise",
        .setup = setup_groups_three,
        .finish = finish,
        .threads = {WORKERS, {"worker 2", worker}, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "slot",
        .promise = "a task in the slot behind a long poll is found by a sentinel (F-D3)",
        .setup = setup_slot,
        .finish = finish,
        .threads = {{"worker 0", worker_first}, {"worker 1", worker}},
        .preempt = 2,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT,
        .dfs = 5000,
    },
    {
        .name = "slot-two",
        .promise = "the same with a task that has pushed another one out of the slot",
        .setup = setup_slot_two,
        .finish = finish,
        .threads = {{"worker 0", worker_first}, {"worker 1", worker}},
        .preempt = 2,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT,
        .dfs = 5000,
    },
    {
        .name = "slot-wake",
        .promise = "the same when both had slept, and their sentinels as well",
        .setup = setup_slot,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer_late}},
        .preempt = 2,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT - 2,
        .dfs = 5000,
    },
    {
        .name = "slot-theft",
        .promise =
            "a slot that its owner empties and a thief takes from: one gets the task",
        .setup = setup_slot_split,
        .finish = finish,
        .threads = {{"worker 0", worker_first},
                    {"worker 1", worker},
                    {"producer", producer_third}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "slot-theft-three",
        .promise = "the same with another searcher: the theft itself brings the memory",
        .setup = setup_slot_split_three,
        .finish = finish,
        .threads = {{"worker 0", worker_first},
                    {"worker 1", worker},
                    {"worker 2", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "spin",
        .promise = "a task submitted while the worker looks on, or gives that up, runs",
        .setup = setup_spin,
        .finish = finish,
        .threads = {{"worker 0", worker}, {"producer", producer}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "spin-pair",
        .promise = "two that look on, two tasks that wait for each other: both come up",
        .setup = setup_spin_pair,
        .finish = finish,
        .threads = {WORKERS, {"producer", producer_chain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "overflow",
        .promise = "what a full ring throws out is found by the other worker",
        .setup = setup_overflow,
        .finish = finish,
        .threads = {{"worker 0", worker_full}, {"worker 1", worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "spill",
        .promise = "what a busy worker leaves of it is announced (INJ-1)",
        .setup = setup_spill,
        .finish = finish,
        .threads = {{"worker 0", worker_spill},
                    {"worker 1", worker},
                    {"worker 2", worker},
                    {"lock holder", spill_lock_holder}},
        .preempt = 2,
        .stale = 0,
        .dfs = 20000,
        .random = 6000,
    },
    {
        .name = "turns",
        .promise = "what goes behind it, and what then stays in the ring, is announced",
        .setup = setup_turns,
        .finish = finish,
        .threads = {{"worker 0", worker_turns}, {"worker 1", worker}},
        .preempt = 2,
        .stale = 0,
        .dfs = 20000,
        .random = 6000,
    },
    {
        .name = "stop-claimed",
        .promise = "a stop that comes with another wake is not erased by it (F-H5)",
        .setup = setup_one,
        .threads = {{"worker 0", worker_that_ends},
                    {"producer", producer},
                    {"stopper", stopper}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "stop",
        .promise = "workers end when told to, also while they go to sleep",
        .setup = setup_two_producers,
        .threads = {{"worker 0", worker_that_ends},
                    {"worker 1", worker_that_ends},
                    {"stopper", stopper}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "sched",
    .about =
        "workers, global queue, idle set, park word: no task is left while workers sleep",
    .scenarios = scenarios,
};

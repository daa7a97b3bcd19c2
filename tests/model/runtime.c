/* Model of the scheduler with its driver, and of the end of a runtime: real workers, real
 * spawn.c and runtime.c (shutdown and free), a loop without a kernel, no pool.
 *
 * Oracle: a worker that leads in the event loop is called out of it by a submission; a
 * sleeping task wakes; closing ends every task, whatever it waits for, and every worker;
 * a spawn against it runs or is refused, and is dropped once (INV-9); the runtime's
 * memory is not touched after volt_runtime_free(), and nothing leaks. */
#include <errno.h>
#include <string.h>
#include "base/clock.h"
#include "driver/driver.h"
#include "driver/registration.h"
#include "loop_stub.h"
#include "mcx.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include <volt/time.h>

#define WORKERS 2

enum kind {
    PLAIN,
    PAIRED,  /* waits inside its poll until both are in theirs */
    SLEEP,   /* until 5 ms */
    WAITING, /* until woken */
    SPAWNS,  /* another one */
    CHAIN,   /* likewise, of its kind, up to the last; so their slots are used again */
    BLOCKS,  /* in place, until the other one has run; which it spawns */
    LONG,    /* sleeps, then waits inside its poll until the other one has run */
    READS,   /* waits for an edge of a descriptor */
};

struct job {
    enum kind kind;
    struct volt_sleep sleep;
    struct registration *reg;
    int busy; /* annotated: by poll and drop */
    int polls;
    int left; /* of a chain */
};

static struct volt_runtime *rt;
static struct volt_waker waker;
static struct volt_join handle;
static int started, ran, dropped, tasks;
static bool begun;             /* the first of two spawners; a poll that lasts */
static vat_u32 ended[WORKERS]; /* the end of a thread comes before its join */

uint64_t clock_ns(void)
{
    mcx_model_read();
    return loop_stub.now_usec * 1000;
}

void mcx_time_passed(uint64_t ns)
{
    loop_stub.now_usec += ns / 1000;
}

void pool_fini(struct pool *p)
{
    (void)p; /* there is none */
}

static bool worker_ended(void *arg)
{
    const vat_u32 *e = arg;

    return e->v != 0;
}

/* One thread of the pool, which runs what it is given. */
static vat_ptr given;

int pool_submit(struct pool *p, struct volt_task *t)
{
    (void)p;
    vat_ptr_store(&given, t, VAT_REL);
    return 0;
}

int pool_submit_stand_in(struct pool *p, struct volt_task *t)
{
    return pool_submit(p, t);
}

void pool_stand_in_end(struct pool *p)
{
    (void)p;
}

static bool is_given(void *arg)
{
    (void)arg;
    return given.v != NULL;
}

static void pool_thread(void)
{
    struct volt_cx cx = {.unbudgeted = true};

    mcx_daemon();
    mcx_block_until(is_given, NULL);
    if (task_run(&cx, vat_ptr_xchg(&given, NULL, VAT_ACQ)) != TASK_RAN)
        mcx_fail("a blocking task is polled once");
}

/* What ends the runtime is none of its threads. */
const struct pool *thread_owner(void)
{
    return NULL;
}

/* The threads of the runtime are numbered, and end through the explorer. */
int pthread_join(pthread_t thread, void **ret)
{
    (void)ret;
    mcx_block_until(worker_ended, &ended[thread]);
    (void)vat_u32_add(&ended[thread], 0, VAT_ACQ); /* the newest value */
    return 0;
}

static bool both_started(void *arg)
{
    (void)arg;
    return started == 2;
}

static void spawn(enum kind kind);
static void spawn_chain_of(int n);

static bool other_ran(void *arg)
{
    (void)arg;
    return ran > 0;
}

static void block(void *arg)
{
    (void)arg;
    mcx_block_until(other_ran, NULL);
}

static enum volt_poll poll_job(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if ((j->kind == SLEEP || j->kind == LONG) &&
        volt_sleep_poll(cx, &j->sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (j->kind == WAITING && j->polls++ == 0)
        return VOLT_PENDING;
    if (j->kind == SPAWNS)
        spawn(PLAIN);
    if (j->kind == CHAIN && j->left > 0)
        spawn_chain_of(j->left);
    if (j->kind == READS && !readiness_poll(j->reg, DIR_READ, cx->task, false))
        return VOLT_PENDING;
    if (j->kind == LONG) {
        begun = true;
        block(NULL);
    }
    if (j->kind == BLOCKS) {
        spawn(PLAIN);
        volt_block_in_place(cx, block, NULL);
    }
    if (j->kind == PAIRED) {
        if (loop_stub.now_usec != 1000) /* time passes only while nothing else can move */
            mcx_fail("a submission to sleeping workers was found by a look of theirs");
        started++;
        mcx_block_until(both_started, NULL);
    }
    ran++;
    return VOLT_READY;
}

static void drop_job(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_sleep_fini(&j->sleep);
    if (j->reg)
        driver_unregister(j->reg);
    dropped++;
}

static const struct volt_task_type job_type = {
    .name = "job",
    .size = sizeof(struct job),
    .poll = poll_job,
    .drop = drop_job,
};

/* counted: the counters of tasks are cells, else plain memory. */
static void start_counted(uint32_t workers, bool counted)
{
    struct worker *w = mcx_malloc(workers * sizeof(*w));

    loop_stub_reset(NULL);
    rt = mcx_malloc(sizeof(*rt));
    sched_init(&rt->sched, w, workers, true, 1);
    rt->sched.heap = heap_new(workers);
    MCX_CHECK(rt->sched.heap != NULL);
    MCX_CHECK(driver_new(workers, &rt->sched.driver) == 0);
    rt->thread = mcx_malloc(workers * sizeof(*rt->thread));
    rt->threads = workers;
    for (uint32_t i = 0; i < workers; i++) {
        if (!mcx_random())
            w[i].rng = (struct rng){0}; /* stays so: the first victim is worker 0 */
        mcx_quiet(&w[i].count, counted ? sizeof(vat_u64) : sizeof(w[i].count));
        mcx_quiet(&w[i].count.lifo_hits,
                  sizeof(w[i].count) - offsetof(struct counters, lifo_hits));
        rt->thread[i] = i;
        vat_u32_init(&ended[i], 0);
    }
    if (!counted)
        mcx_quiet(&rt->sched.spawned, 3 * sizeof(rt->sched.spawned));
    mcx_quiet(&rt->sched.last_driver_poll, sizeof(rt->sched.last_driver_poll));
    mcx_name(&rt->sched.idle.word, sizeof(rt->sched.idle.word), "idle");
    mcx_name(&rt->sched.stop, sizeof(rt->sched.stop), "stop");
    vat_ptr_init(&given, NULL);
    waker.task = NULL;
    handle.task = NULL;
    started = ran = dropped = tasks = 0;
    begun = false;
}

static void start(uint32_t workers)
{
    start_counted(workers, false);
}

static void setup_stats(void)
{
    start_counted(1, true);
}

static void setup_one_worker(void)
{
    start(1);
}

static void setup_two_workers(void)
{
    start(2);
}

static struct job *job_new(enum kind kind)
{
    struct job *j = volt_task_new(rt, &job_type);

    j->kind = kind;
    volt_sleep_init_at(&j->sleep, kind == LONG ? 3000 : 5000);
    tasks++;
    return j;
}

static void worker(void)
{
    mcx_daemon();
    worker_main(&rt->sched.worker[mcx_self()]);
    vat_u32_store(&ended[mcx_self()], 1, VAT_REL);
}

static void spawn(enum kind kind)
{
    int r = volt_task_spawn(job_new(kind), NULL);

    MCX_CHECK(r == 0 || r == -ESHUTDOWN);
}

static void spawn_chain_of(int n)
{
    struct job *j = job_new(CHAIN);

    j->left = n - 1;
    MCX_CHECK(volt_task_spawn(j, NULL) == 0);
}

static void spawn_chain(void)
{
    spawn_chain_of(4);
}

static void spawn_plain(void)
{
    spawn(PLAIN);
}

static void spawn_paired(void)
{
    begun = true;
    spawn(PAIRED);
}

static bool has_begun(void *arg)
{
    (void)arg;
    return begun;
}

/* That this one comes first is the mirror image of an execution in which the other one
 * does. */
static void spawn_paired_2(void)
{
    mcx_block_until(has_begun, NULL);
    spawn(PAIRED);
}

static void spawn_sleep(void)
{
    spawn(SLEEP);
}

static void spawn_spawner(void)
{
    spawn(SPAWNS);
}

static void spawn_blocking(void)
{
    MCX_CHECK(volt_task_spawn_blocking(job_new(PLAIN), NULL) == 0);
}

static void spawn_blocker(void)
{
    spawn(BLOCKS);
}

/* The second to wake is the one that the first waits for. */
static void spawn_long(void)
{
    spawn(LONG);
    spawn(SLEEP);
}

static void spawn_long_and_reader(void)
{
    struct job *j = job_new(READS);

    MCX_CHECK(driver_register(rt->sched.driver, 3, &j->reg) == 0);
    MCX_CHECK(volt_task_spawn(j, NULL) == 0);
    spawn(LONG);
}

static void edge_behind_long(void)
{
    mcx_block_until(has_begun, NULL);
    loop_stub_edge();
}

static void reader(void)
{
    struct volt_stats stats;

    volt_runtime_stats(rt, &stats);
    if (stats.completed > stats.spawned || stats.live > 3)
        mcx_fail("%d spawned, %d completed, %d live", (int)stats.spawned,
                 (int)stats.completed, (int)stats.live);
}

static void look_at(void *arg, const struct volt_task_info *info)
{
    int *n = arg;

    MCX_CHECK(strcmp(info->type, "job") == 0);
    ++*n;
}

/* The memory of a task that ends meanwhile is its lister's, until that gives it back. */
static void lister(void)
{
    int seen = 0;

    MCX_CHECK(volt_runtime_tasks(rt, look_at, &seen) == seen && seen <= 4);
}

/* A task that waits for a waker from outside, spawned before the workers run. */
static void setup_waiting(void)
{
    start(1);
    struct job *j = job_new(WAITING);

    waker.task = task_of(j);
    MCX_CHECK(volt_task_spawn(j, NULL) == 0);
    task_ref(waker.task);
}

/* Cancelled from outside. */
static void setup_cancel(void)
{
    start(1);
    MCX_CHECK(volt_task_spawn(job_new(WAITING), &handle) == 0);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static void finish_cancelled(void)
{
    MCX_CHECK(dropped == 1);
    MCX_CHECK(idle_parked(&rt->sched.idle) == rt->sched.workers);
}

/* With sentinels; a deadline, and so a look of theirs, comes when nothing else moves. */
static void start_with_sentinels(uint32_t workers)
{
    start(workers);
    loop_stub_reset(mcx_alone);
    rt->sched.sentinel_usec = 2000;
}

static void setup_sentinels(void)
{
    start_with_sentinels(2);
}

static void outsider(void)
{
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
}

static void closer(void)
{
    MCX_CHECK(volt_runtime_shutdown(rt, UINT64_MAX) == 0);
}

static void freer(void)
{
    volt_runtime_free(rt);
}

static void finish_all_ran(void)
{
    if (ran != tasks || dropped != tasks)
        mcx_fail("%d of %d tasks ran, %d dropped", ran, tasks, dropped);
    MCX_CHECK(idle_parked(&rt->sched.idle) == rt->sched.workers);
    MCX_CHECK(idle_searchers(&rt->sched.idle) == 0);
}

static void finish_closed(void)
{
    MCX_CHECK(dropped == tasks);
    for (uint32_t i = 0; i < rt->sched.workers; i++)
        MCX_CHECK(vat_u32_load(&ended[i], VAT_ACQ));
    volt_runtime_free(rt);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_freed(void)
{
    MCX_CHECK(dropped == tasks);
    MCX_CHECK(mcx_live_objects() == 0);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "call-leader",
        .promise = "a submission calls the only worker out of the event loop",
        .setup = setup_one_worker,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker}, {"spawner", spawn_plain}},
        .preempt = 2,
        .stale = 1,
        .dfs = 15000,
    },
    {
        .name = "call-both",
        .promise = "two tasks that wait for each other: leader and sleeper both come",
        .setup = setup_two_workers,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"spawner", spawn_paired},
                    {"spawner 2", spawn_paired_2}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "sleep",
        .promise = "a task that sleeps is woken, whoever leads",
        .setup = setup_two_workers,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker}, {"worker 1", worker}, {"spawner", spawn_sleep}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "sleep-spawn",
        .promise =
            "a leader that a timer wakes is claimed at once: nobody is counted twice",
        .setup = setup_two_workers,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"spawner", spawn_sleep},
                    {"spawner 2", spawn_plain}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "stats",
        .promise = "who reads the counters never sees more tasks ended than spawned",
        .setup = setup_stats,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"spawner", spawn_spawner},
                    {"spawner 2", spawn_blocking},
                    {"pool thread", pool_thread},
                    {"reader", reader}},
        .preempt = 2,
        .stale = 2,
        .dfs = 10000,
    },
    {
        .name = "list",
        .promise = "tasks that begin and end while they are listed are whole or left out",
        .setup = setup_one_worker,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker}, {"spawner", spawn_chain}, {"lister", lister}},
        .preempt = 2,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "cancel",
        .promise = "a task cancelled from outside is dropped by the worker",
        .setup = setup_cancel,
        .finish = finish_cancelled,
        .threads = {{"worker 0", worker}, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "block-in-place",
        .promise = "a poll that blocks gives its worker to another thread",
        .setup = setup_one_worker,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"pool thread", pool_thread},
                    {"spawner", spawn_blocker}},
        .preempt = 2,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "sentinel-claim",
        .promise = "sentinels in the loop and beside it are called out of their sleep",
        .setup = setup_sentinels,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"spawner", spawn_paired},
                    {"spawner 2", spawn_paired_2}},
        .preempt = 1,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT,
        .dfs = 5000,
        .random = 1000,
    },
    {
        .name = "unattended",
        .promise = "the leader runs a long poll: the timers behind it go on (F-J1)",
        .setup = setup_sentinels,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker}, {"worker 1", worker}, {"spawner", spawn_long}},
        .preempt = 1,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT,
        .dfs = 5000,
        .random = 1000,
    },
    {
        .name = "unattended-read",
        .promise = "likewise, and a descriptor's events",
        .setup = setup_sentinels,
        .finish = finish_all_ran,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"spawner", spawn_long_and_reader},
                    {"peer", edge_behind_long}},
        .preempt = 1,
        .stale = 1,
        .timeouts = MCX_LAST_RESORT,
        .dfs = 5000,
        .random = 1000,
    },
    {
        .name = "close",
        .promise = "closing against a spawn: the task ends either way, all workers end",
        .setup = setup_two_workers,
        .finish = finish_closed,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"spawner", spawn_sleep},
                    {"closer", closer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "close-spawn",
        .promise = "the same with one worker",
        .setup = setup_one_worker,
        .finish = finish_closed,
        .threads = {{"worker 0", worker}, {"spawner", spawn_sleep}, {"closer", closer}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "free",
        .promise = "freeing against a wake from outside: no memory is touched afterwards",
        .setup = setup_waiting,
        .finish = finish_freed,
        .threads = {{"worker 0", worker}, {"outsider", outsider}, {"freer", freer}},
        .preempt = 2,
        .stale = 1,
        .dfs = 10000,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "runtime",
    .about = "workers with the event loop, and the end of a runtime",
    .scenarios = scenarios,
};

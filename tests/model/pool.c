/* Model of lib/runtime/pool.c: the hand-over of blocking tasks to threads that come and
 * go. Mutex, condition and thread are the explorer's; a thread's idle time may end at
 * once, at any time, or never.
 *
 * Oracle: every task that was accepted runs, though its thread is about to give up; no
 * more threads than allowed; the end of the pool waits for all of them and joins each
 * once. */
#include <errno.h>
#include "base/clock.h"
#include "executor.h"
#include "mcx.h"
#include "runtime/pool.h"
#include "runtime/thread.h"

#define POOL_THREADS 3 /* threads 0.. of the scenarios */
#define TASKS        3

static struct pool *pool;
static struct volt_task *task[TASKS];
static int tasks, running, ran, refused, inside, together;
static bool stood_in; /* the stand-in has ended */
static int written;   /* annotated: before the submission */

/* --- mutex, condition, thread ------------------------------------------------------- */

static struct {
    const void *waits_on; /* condition, or NULL */
    bool woken;
} waiter[MCX_THREADS];

static struct {
    vat_u32 started, ended; /* both order memory as create and join do */
    void *(*body)(void *arg);
    void *arg;
    bool joined;
} thread[POOL_THREADS];
static int nstarted, may_start;

static uint32_t *word_of(pthread_mutex_t *m)
{
    return (uint32_t *)(void *)m;
}

int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
    (void)attr;
    *word_of(m) = 0;
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *m)
{
    MCX_CHECK(*word_of(m) == 0);
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
    mcx_here(__FILE__, __LINE__);
    mcx_lock(word_of(m));
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
    mcx_unlock(word_of(m));
    return 0;
}

int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
    (void)c, (void)attr;
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *c)
{
    for (int i = 0; i < MCX_THREADS; i++)
        MCX_CHECK(waiter[i].waits_on != c);
    return 0;
}

static bool woken(void *arg)
{
    const bool *w = arg;

    return *w;
}

static int wait_on(pthread_cond_t *c, pthread_mutex_t *m, bool gives_up)
{
    int me = mcx_self(), r = 0;

    waiter[me].waits_on = c;
    waiter[me].woken = false;
    mcx_unlock(word_of(m));
    if (gives_up) {
        mcx_yield();
        mcx_model_read();
    } else {
        mcx_block_until(woken, &waiter[me].woken);
    }
    if (!waiter[me].woken)
        r = ETIMEDOUT;
    waiter[me].waits_on = NULL;
    mcx_lock(word_of(m));
    return r;
}

int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return wait_on(c, m, false);
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
                           const struct timespec *until)
{
    (void)until;
    return wait_on(c, m, mcx_choose(2) == 1);
}

/* Wakes one of those that wait, whichever. */
int pthread_cond_signal(pthread_cond_t *c)
{
    int who[MCX_THREADS], n = 0;

    mcx_model_read();
    for (int i = 0; i < MCX_THREADS; i++)
        if (waiter[i].waits_on == c && !waiter[i].woken)
            who[n++] = i;
    if (n > 0)
        waiter[who[mcx_choose(n)]].woken = true;
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *c)
{
    for (int i = 0; i < MCX_THREADS; i++)
        if (waiter[i].waits_on == c)
            waiter[i].woken = true;
    return 0;
}

int thread_start(pthread_t *ret, void *(*body)(void *), void *arg)
{
    if (nstarted == may_start)
        return -EAGAIN;
    *ret = (pthread_t)nstarted;
    thread[nstarted].body = body;
    thread[nstarted].arg = arg;
    vat_u32_store(&thread[nstarted++].started, 1, VAT_REL);
    return 0;
}

void thread_enter(const struct pool *owner, const char *prefix, const char *suffix)
{
    (void)owner, (void)prefix, (void)suffix;
}

pthread_t pthread_self(void)
{
    return (pthread_t)mcx_self();
}

static bool is_set(void *arg)
{
    const vat_u32 *cell = arg;

    return cell->v != 0;
}

int pthread_join(pthread_t t, void **ret)
{
    (void)ret;
    MCX_CHECK(!thread[t].joined);
    thread[t].joined = true;
    mcx_block_until(is_set, &thread[t].ended);
    (void)vat_u32_add(&thread[t].ended, 0, VAT_ACQ);
    return 0;
}

uint64_t clock_ns(void)
{
    return 0;
}

static void pool_body(void)
{
    int i = mcx_self();

    mcx_daemon();
    mcx_block_until(is_set, &thread[i].started);
    (void)vat_u32_add(&thread[i].started, 0, VAT_ACQ);
    (void)thread[i].body(thread[i].arg);
    vat_u32_store(&thread[i].ended, 1, VAT_REL);
}

/* --- the scenarios ------------------------------------------------------------------ */

static bool all_inside(void *arg)
{
    (void)arg;
    return inside >= together;
}

static enum volt_poll poll_blocking(struct volt_cx *cx, void *state)
{
    const bool *paired = state;

    (void)cx;
    VAT_RD(&written);
    MCX_CHECK((unsigned)++running <= pool->max_threads);
    inside += *paired;
    if (*paired)
        mcx_block_until(all_inside, NULL);
    else
        mcx_yield(); /* takes its time */
    running--;
    ran++;
    return VOLT_READY;
}

static const struct volt_task_type blocking_type = {
    .name = "blocking",
    .size = 1,
    .poll = poll_blocking,
};

static bool first_ran(void *arg)
{
    (void)arg;
    return ran + refused > 0;
}

/* As a worker's, whose call ends when the first task has run, or is refused. */
static enum volt_poll poll_stand_in(struct volt_cx *cx, void *state)
{
    (void)cx, (void)state;
    mcx_block_until(first_ran, NULL);
    pool_stand_in_end(pool);
    stood_in = true;
    return VOLT_READY;
}

static const struct volt_task_type stand_in_type = {
    .name = "stand-in",
    .size = 1,
    .poll = poll_stand_in,
};

static void start(unsigned max_threads, int startable, int n)
{
    executor_reset();
    pool = mcx_malloc(sizeof(*pool));
    mcx_name(&pool->lock, sizeof(pool->lock), "pool lock");
    MCX_CHECK(pool_init(pool, max_threads, "model") == 0);
    for (int i = 0; i < MCX_THREADS; i++)
        waiter[i].waits_on = NULL;
    for (int i = 0; i < POOL_THREADS; i++) {
        vat_u32_init(&thread[i].started, 0);
        vat_u32_init(&thread[i].ended, 0);
        thread[i].joined = false;
    }
    tasks = n;
    for (int i = 0; i < n; i++) {
        task[i] = task_of(volt_task_new(NULL, &blocking_type));
        task_begin(task[i], false);
    }
    nstarted = running = ran = refused = inside = together = 0;
    stood_in = false;
    may_start = startable;
}

static void setup_one_thread(void)
{
    start(1, POOL_THREADS, 2);
}

static void setup_two_threads(void)
{
    start(2, POOL_THREADS, 3);
    together = 2;
    for (int i = 0; i < together; i++)
        *(bool *)task_state(task[i]) = true;
}

static void setup_no_more_threads(void)
{
    start(2, 1, 2);
}

static void setup_stand_in(void)
{
    start(1, POOL_THREADS, 3);
}

static void setup_refused_beside_stand_in(void)
{
    start(1, 1, 1);
}

static void submit(int i)
{
    if (ran == 0 && i != 1)
        VAT_WR(&written);
    if (pool_submit(pool, task[i]) == 0)
        return;
    refused++;
    task_free(task[i]);
}

static void submit_both(void)
{
    submit(0);
    submit(1);
}

static bool all_ran(void *arg)
{
    (void)arg;
    return ran + refused == tasks;
}

static bool one_ran(void *arg)
{
    (void)arg;
    return ran == 1;
}

/* When they come there is a thread already, and perhaps idle. */
static void submit_one_then_both(void)
{
    submit(2);
    mcx_block_until(one_ran, NULL);
    submit_both();
}

/* Ends the pool after the last task, as a runtime does. */
static void ender(void)
{
    mcx_block_until(all_ran, NULL);
    pool_fini(pool);
}

static void submit_and_end(void)
{
    submit_both();
    ender();
}

static bool has_stood_in(void *arg)
{
    (void)arg;
    return stood_in;
}

/* The stand-in goes on until the first task has run, on a thread of its own; the others
 * come when all threads may be gone, or both be idle. */
static void submit_beside_stand_in(void)
{
    struct volt_task *t = task_of(volt_task_new(NULL, &stand_in_type));

    task_begin(t, false);
    MCX_CHECK(pool_submit_stand_in(pool, t) == 0);
    submit(0);
    mcx_block_until(has_stood_in, NULL);
    MCX_CHECK(ran == 1);
    submit(1);
    submit(2);
    ender();
}

/* The only thread that there is stands in, or is about to. */
static void refused_beside_stand_in(void)
{
    struct volt_task *t = task_of(volt_task_new(NULL, &stand_in_type));

    task_begin(t, false);
    MCX_CHECK(pool_submit_stand_in(pool, t) == 0);
    submit(0);
    MCX_CHECK(refused == 1);
    mcx_block_until(has_stood_in, NULL);
    ender();
}

static void finish(void)
{
    MCX_CHECK(pool->stand_ins == 0);
    MCX_CHECK(ran + refused == tasks);
    MCX_CHECK(refused == 0 || nstarted == may_start);
    MCX_CHECK(pool->threads == 0 && pool->idle == 0 && pool->running.v == 0);
    for (int i = 0; i < nstarted; i++)
        MCX_CHECK(thread[i].joined);
    mcx_free(pool);
    MCX_CHECK(mcx_live_objects() == 0);
}

#define POOL                                                                             \
    {"pool 0", pool_body}, {"pool 1", pool_body},                                        \
    {                                                                                    \
        "pool 2", pool_body                                                              \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "one-thread",
        .promise = "one thread at a time, each about to give up: both tasks run",
        .setup = setup_one_thread,
        .finish = finish,
        .threads = {POOL, {"submitter", submit_and_end}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "two-threads",
        .promise =
            "two tasks that wait for each other get a thread each, though one is giving up",
        .setup = setup_two_threads,
        .finish = finish,
        .threads = {POOL, {"submitter", submit_one_then_both}, {"ender", ender}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "no-more-threads",
        .promise = "no second thread can be started: the first runs both, or says no",
        .setup = setup_no_more_threads,
        .finish = finish,
        .threads = {POOL, {"submitter", submit_and_end}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "stand-in",
        .promise = "one that plays a worker takes no task's thread, and is gone after it",
        .setup = setup_stand_in,
        .finish = finish,
        .threads = {POOL, {"submitter", submit_beside_stand_in}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "stand-in-refused",
        .promise = "a task that is refused takes no stand-in with it that has not begun",
        .setup = setup_refused_beside_stand_in,
        .finish = finish,
        .threads = {POOL, {"submitter", refused_beside_stand_in}},
        .preempt = 2,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "pool",
    .about = "the pool for blocking tasks",
    .scenarios = scenarios,
};

/* Model of lib/sync/mutex.c and rwlock.c over the real semaphore.
 *
 * Oracle: a holder is alone, or among readers (the guarded field is annotated, so
 * anything else is a race), and sees what the last one wrote; whoever wants the lock gets
 * it, whichever holder, waiter or would-be writer is cancelled, and before anything that
 * came when it had queued: a writer before the readers behind it; at the end
 * nothing is held. */
#include "executor.h"
#include "mcx.h"
#include "sync/waiter.h"

enum way { LOCK, READ, WRITE };

struct job {
    enum way way;
    struct volt_mutex_lock lock;
    struct volt_rwlock_acquire acquire;
    int busy; /* annotated: by poll and drop */
    int number;
    unsigned before; /* jobs that had queued when it came, by number */
};

static struct volt_mutex *mutex;
static struct volt_rwlock *rwlock;
static int guarded; /* annotated: by the holders */
static int ran, dropped, tasks;
static struct job *job[EXECUTOR_TASKS];
static unsigned queued; /* jobs whose poll was pending and that are not granted yet */
static struct volt_join handle;

static struct volt_waiter *waiter_of(struct job *j)
{
    return j->way == LOCK ? &j->lock.acquire.waiter : &j->acquire.acquire.waiter;
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

/* Jobs that have queued and are not granted: what they are told is in place. */
static unsigned waiting(void)
{
    mcx_block_until_any(always, NULL);
    for (int i = 0; i < tasks; i++)
        if (queued >> i & 1 && waiter_of(job[i])->granted)
            queued &= ~(1u << i);
    return queued;
}

static void start(void)
{
    executor_reset();
    mutex = mcx_malloc(sizeof(*mutex));
    volt_mutex_init(mutex);
    mcx_name(mutex, sizeof(*mutex), "mutex");
    rwlock = mcx_malloc(sizeof(*rwlock));
    volt_rwlock_init(rwlock);
    mcx_name(rwlock, sizeof(*rwlock), "rwlock");
    ran = dropped = tasks = 0;
    queued = 0;
    handle.task = NULL;
}

static void use(enum way way)
{
    if (way == READ)
        VAT_RD(&guarded);
    else
        VAT_WR(&guarded);
}

static void unlock(enum way way)
{
    switch (way) {
    case LOCK:
        volt_mutex_unlock(mutex);
        break;
    case READ:
        volt_rwlock_read_unlock(rwlock);
        break;
    case WRITE:
        volt_rwlock_write_unlock(rwlock);
        break;
    }
}

static enum volt_poll poll_job(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (waiter_of(j)->state == WAITER_NEW)
        j->before = waiting();
    if ((j->way == LOCK ? volt_mutex_lock_poll(cx, &j->lock)
                        : volt_rwlock_acquire_poll(cx, &j->acquire)) == VOLT_PENDING) {
        if (waiter_of(j)->state != WAITER_BACK)
            queued |= 1u << j->number;
        return VOLT_PENDING;
    }
    if (waiting() & j->before)
        mcx_fail("job %d has passed one that waits", j->number);
    use(j->way);
    ran++;
    unlock(j->way);
    return VOLT_READY;
}

static void drop_job(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    queued &= ~(1u << j->number); /* it goes: others may pass before it is out */
    if (j->way == LOCK)
        volt_mutex_lock_fini(&j->lock);
    else
        volt_rwlock_acquire_fini(&j->acquire);
    dropped++;
}

static const struct volt_task_type job_type = {
    .name = "job",
    .size = sizeof(struct job),
    .poll = poll_job,
    .drop = drop_job,
};

static void spawn(enum way way, struct volt_join *ret_join)
{
    struct job *j = task_state(executor_spawn(&job_type, ret_join, false));

    j->way = way;
    if (way == LOCK)
        volt_mutex_lock_init(&j->lock, mutex);
    else if (way == READ)
        volt_rwlock_acquire_init_read(&j->acquire, rwlock);
    else
        volt_rwlock_acquire_init_write(&j->acquire, rwlock);
    j->number = tasks;
    job[tasks++] = j;
}

static void setup_mutex(void)
{
    start();
    spawn(LOCK, NULL);
    spawn(LOCK, NULL);
}

/* Held by the thread; two wait, the first of them may be cancelled. */
static void setup_mutex_cancel(void)
{
    start();
    MCX_CHECK(volt_mutex_try_lock(mutex));
    spawn(LOCK, &handle);
    spawn(LOCK, NULL);
}

static void setup_rwlock(void)
{
    start();
    spawn(READ, NULL);
    spawn(WRITE, NULL);
    spawn(READ, NULL);
}

/* A thread reads; a writer that may be cancelled, and a reader behind it. */
static void setup_writer_cancel(void)
{
    start();
    MCX_CHECK(volt_rwlock_try_read(rwlock));
    spawn(WRITE, &handle);
    spawn(READ, NULL);
}

static void setup_fair(void)
{
    start();
    spawn(LOCK, NULL);
    spawn(LOCK, NULL);
    spawn(LOCK, NULL);
}

/* Readers come again and again beside a writer. */
static void setup_rwlock_fair(void)
{
    start();
    spawn(READ, NULL);
    spawn(WRITE, NULL);
    spawn(READ, NULL);
}

static void setup_try(void)
{
    start();
    spawn(WRITE, NULL);
}

static void trier(void)
{
    if (volt_mutex_try_lock(mutex)) {
        use(LOCK);
        unlock(LOCK);
    }
}

static void unlocker(void)
{
    use(LOCK);
    unlock(LOCK);
}

static void read_unlocker(void)
{
    use(READ);
    unlock(READ);
}

/* Holds it for reading, whoever waits meanwhile: a queued writer does not hold it
 * (F-E8). */
static void inspector(void)
{
    struct volt_rwlock_info info;

    volt_rwlock_inspect(rwlock, &info);
    MCX_CHECK(!info.writer && info.readers >= 1);
    read_unlocker();
}

/* Tries again and again, and never passes a task that waits. */
static void greedy(bool (*try)(void), enum way way)
{
    for (int i = 0; i < 3; i++) {
        unsigned before = waiting();

        if (!try())
            continue;
        if (waiting() & before)
            mcx_fail("a thread that tries has passed a task that waits");
        use(way);
        unlock(way);
    }
}

static bool try_lock(void)
{
    return volt_mutex_try_lock(mutex);
}

static bool try_read(void)
{
    return volt_rwlock_try_read(rwlock);
}

static void greedy_locker(void)
{
    greedy(try_lock, LOCK);
}

static void greedy_reader(void)
{
    greedy(try_read, READ);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static void try_reader(void)
{
    if (volt_rwlock_try_read(rwlock)) {
        use(READ);
        unlock(READ);
    }
}

static void try_writer(void)
{
    if (volt_rwlock_try_write(rwlock)) {
        use(WRITE);
        unlock(WRITE);
    }
}

static void finish(void)
{
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    MCX_CHECK(volt_mutex_try_lock(mutex));
    MCX_CHECK(!volt_mutex_try_lock(mutex));
    MCX_CHECK(volt_rwlock_try_write(rwlock));
    MCX_CHECK(!volt_rwlock_try_read(rwlock));
    volt_mutex_fini(mutex);
    volt_rwlock_fini(rwlock);
    MCX_CHECK(mcx_live_objects() == 2);
}

static void finish_all_ran(void)
{
    MCX_CHECK(ran == tasks);
    finish();
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "mutex",
        .promise = "two tasks and a thread that tries: one holder at a time, all get it",
        .setup = setup_mutex,
        .finish = finish_all_ran,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"trier", trier}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "mutex-cancel",
        .promise =
            "an unlock against the cancellation of the first of two waiters (F-E3)",
        .setup = setup_mutex_cancel,
        .finish = finish,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"holder", unlocker},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "rwlock",
        .promise = "reader, writer, reader: the writer is alone, all get it",
        .setup = setup_rwlock,
        .finish = finish_all_ran,
        .threads = {{"executor", executor_run}, {"executor 2", executor_run}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "writer-cancel",
        .promise =
            "a queued writer that is cancelled lets the readers behind it in (A-16)",
        .setup = setup_writer_cancel,
        .finish = finish,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"reader", read_unlocker},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "inspect",
        .promise =
            "what is told of the lock is true while a writer queues behind a reader",
        .setup = setup_writer_cancel,
        .finish = finish,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"reader", inspector},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "fair",
        .promise = "first come, first served, beside a thread that tries again and again",
        .setup = setup_fair,
        .finish = finish_all_ran,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"locker", greedy_locker}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "rwlock-fair",
        .promise = "a writer that waits is passed by no reader, be there ever more",
        .setup = setup_rwlock_fair,
        .finish = finish_all_ran,
        .threads = {{"executor", executor_run},
                    {"executor 2", executor_run},
                    {"reader", greedy_reader}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "rwlock-try",
        .promise = "threads that only try, beside a task that writes",
        .setup = setup_try,
        .finish = finish_all_ran,
        .threads = {{"executor", executor_run},
                    {"reader", try_reader},
                    {"writer", try_writer}},
        .preempt = 2,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "mutex",
    .about = "mutex and rwlock",
    .scenarios = scenarios,
};

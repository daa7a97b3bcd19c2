/* Model of lib/sync/sem.c and waiter.h.
 *
 * Oracle: no permit is lost or made (INV-6), also when a waiter is cancelled before,
 * while or after it is granted; every task that is owed permits gets them although no
 * timeout fires; nobody gets any while one that had queued before it came has not been
 * granted, be its request larger; only who was served in the same poll before is
 * sent out of the queue, and once; who holds sees what the last holder wrote; nobody
 * touches a waiter after its `granted` is stored (INV-7): the tasks are freed when they
 * end. */
#include <errno.h>
#include "executor.h"
#include "mcx.h"
#include "sync/waiter.h"

struct job {
    struct volt_sem_acquire acquire;
    uint64_t n;
    bool gives_back;
    int times;     /* to acquire once more, in the same poll if it may */
    bool served;   /* in this poll, from the queue */
    bool returner; /* it was when it queued */
    int busy;      /* annotated: by poll and drop */
    int steps_back;
    int number;
};

static struct volt_sem *sem;
static int guarded; /* annotated: by the holders */
static uint64_t total, held;
static int acquired, closed, dropped, tasks;
static int more; /* acquisitions than one for each task */
static struct job *job[EXECUTOR_TASKS];
static unsigned queued; /* jobs whose poll was pending and that are not granted yet */
static unsigned ahead[EXECUTOR_TASKS]; /* of each job: who had queued when it came */
static struct volt_join handle;
static struct volt_waker waker;

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void leaves_queue(int number)
{
    queued &= ~(1u << number);
    for (int i = 0; i < tasks; i++)
        ahead[i] &= ~(1u << number);
}

/* Jobs that have queued and are not granted: what they are told is in place. */
static unsigned waiting(void)
{
    mcx_block_until_any(always, NULL);
    for (int i = 0; i < tasks; i++)
        if (queued >> i & 1 && job[i]->acquire.waiter.granted)
            leaves_queue(i);
    return queued;
}

/* All permits: to write; fewer: to read. */
static void use_guarded(uint64_t n)
{
    if (n == total)
        VAT_WR(&guarded);
    else
        VAT_RD(&guarded);
}

/* It queued before this poll, and has been told something or not. */
static void look_at_grant(struct job *j)
{
    if (j->acquire.waiter.granted == GRANT_YES)
        j->served = true;
    if (j->acquire.waiter.granted == GRANT_RETRY && !j->returner)
        mcx_fail("job %d lost its place, but was not served in that poll", j->number);
}

/* The poll was pending. */
static void look_at_queue(struct job *j, bool was_queued)
{
    if (j->acquire.waiter.state == WAITER_BACK) {
        leaves_queue(j->number);
        MCX_CHECK(++j->steps_back < SEM_STEPS * SEM_STEPS); /* one may undo another's */
        return;
    }
    if (!was_queued || !(waiting() >> j->number & 1))
        j->returner = j->served;
    queued |= 1u << j->number;
}

static enum volt_poll poll_once(struct volt_cx *cx, struct job *j)
{
    bool was_queued = j->acquire.waiter.state == WAITER_QUEUED;

    if (j->acquire.waiter.state == WAITER_NEW)
        ahead[j->number] = waiting();
    if (was_queued)
        look_at_grant(j);
    if (volt_sem_acquire_poll(cx, &j->acquire) == VOLT_PENDING) {
        look_at_queue(j, was_queued);
        return VOLT_PENDING;
    }
    if (was_queued && j->acquire.waiter.granted == GRANT_YES)
        j->served = true;
    if (waiting() & ahead[j->number])
        mcx_fail("job %d has passed one that waits", j->number);
    if (volt_sem_acquire_status(&j->acquire) == -EPIPE) {
        closed++;
        j->times = 0;
        return VOLT_READY;
    }
    use_guarded(j->n);
    acquired++;
    held += j->n;
    if (j->gives_back) {
        held -= j->n;
        MCX_CHECK(volt_sem_release(sem, j->n) == 0);
    }
    return VOLT_READY;
}

static enum volt_poll poll_acquire(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    j->served = false;
    while (poll_once(cx, j) == VOLT_READY) {
        if (j->times-- <= 0)
            return VOLT_READY;
        volt_sem_acquire_init(&j->acquire, sem, j->n);
    }
    return VOLT_PENDING;
}

static void drop_acquire(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    leaves_queue(j->number); /* it goes: others may pass before it is out */
    volt_sem_acquire_fini(&j->acquire);
    dropped++;
}

static const struct volt_task_type acquire_type = {
    .name = "acquire",
    .size = sizeof(struct job),
    .poll = poll_acquire,
    .drop = drop_acquire,
};

static void start(uint64_t permits, uint64_t max)
{
    executor_reset();
    sem = mcx_malloc(sizeof(*sem));
    volt_sem_init(sem, permits, max);
    mcx_name(sem, sizeof(*sem), "sem");
    total = max;
    held = 0;
    acquired = closed = dropped = tasks = more = 0;
    queued = 0;
    handle.task = NULL;
    waker.task = NULL;
}

static struct volt_task *spawn(uint64_t n, bool gives_back, struct volt_join *ret_join)
{
    struct volt_task *t = executor_spawn(&acquire_type, ret_join, false);
    struct job *j = task_state(t);

    volt_sem_acquire_init(&j->acquire, sem, n);
    j->n = n;
    j->gives_back = gives_back;
    j->times = 0;
    j->number = tasks;
    job[tasks++] = j;
    return t;
}

static void setup_spurious(void)
{
    start(0, 1);
    waker = executor_waker(spawn(1, false, NULL));
}

static void setup_cancel(void)
{
    start(0, 1);
    (void)spawn(1, false, &handle);
}

/* The first wants all and gets a part; the second wants what the first
 * would give back. */
static void setup_partial(void)
{
    start(1, 2);
    (void)spawn(2, true, &handle);
    (void)spawn(1, true, NULL);
}

/* Two that want all there is, beside a thread that only tries. */
static void setup_contend(void)
{
    start(1, 1);
    (void)spawn(1, true, NULL);
    (void)spawn(1, true, NULL);
}

/* One is granted, cancelled and closed at once. */
static void setup_close_cancel(void)
{
    start(0, 1);
    (void)spawn(1, false, &handle);
}

/* One that wants all, between those that want one and come again and again. */
static void setup_fair(void)
{
    start(2, 2);
    (void)spawn(1, true, NULL);
    (void)spawn(2, true, NULL);
    (void)spawn(1, true, NULL);
}

static void spawn_again(uint64_t n, int times, struct volt_join *ret_join)
{
    struct job *j = task_state(spawn(n, true, ret_join));

    j->times = times;
    more += times;
}

/* Held by a thread. Each acquires again in the poll in which it was served. */
static void setup_again(void)
{
    start(0, 1);
    spawn_again(1, 1, NULL);
    spawn_again(1, 1, NULL);
}

/* One of them wants all, and may have a part of it when the queue is dissolved. */
static void setup_again_all(void)
{
    start(1, 2);
    spawn_again(2, 1, NULL);
    spawn_again(1, 1, NULL);
    (void)spawn(1, true, NULL);
}

/* The first may be cancelled, wherever it is. */
static void setup_again_cancel(void)
{
    start(0, 1);
    spawn_again(1, 2, &handle);
    spawn_again(1, 1, NULL);
}

/* Sections have been short, and one lasts: acquirers step back before they queue. */
static void setup_back(void)
{
    start(0, 1);
    sem->spin = SEM_SPIN_MAX;
    (void)spawn(1, true, &handle);
    (void)spawn(1, true, NULL);
}

static void setup_back_already(void)
{
    setup_back();
    sem->spin = SEM_SPIN_MAX + SEM_STEPS;
}

static void setup_close(void)
{
    start(1, 2);
    (void)spawn(2, true, NULL);
    (void)spawn(1, true, NULL);
}

static void releaser(void)
{
    use_guarded(1);
    MCX_CHECK(volt_sem_release(sem, 1) == 0);
}

static void spurious(void)
{
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static void joiner(void)
{
    volt_join_fini(&handle);
}

static void try_locker(void)
{
    if (volt_sem_try_acquire(sem, 1)) {
        VAT_WR(&guarded);
        MCX_CHECK(volt_sem_release(sem, 1) == 0);
    }
}

static void greedy(void)
{
    for (int i = 0; i < 3; i++) {
        unsigned before = waiting();

        if (!volt_sem_try_acquire(sem, 1))
            continue;
        if (waiting() & before)
            mcx_fail("a thread that tries has passed one that waits");
        MCX_CHECK(volt_sem_release(sem, 1) == 0);
    }
}

static void closer(void)
{
    volt_sem_close(sem);
}

static void finish(void)
{
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    if (volt_sem_available(sem) + held != total)
        mcx_fail("permits: %d available + %d held of %d", (int)volt_sem_available(sem),
                 (int)held, (int)total);
    volt_sem_fini(sem);
    MCX_CHECK(mcx_live_objects() == 1);
}

static void finish_all_acquired(void)
{
    MCX_CHECK(acquired == tasks + more);
    finish();
}

static void finish_closed(void)
{
    MCX_CHECK(acquired + closed == tasks);
    total--; /* the one missing permit never was there */
    finish();
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "spurious-poll",
        .promise = "a grant and a poll for nothing at once: the grant is seen (F-E4)",
        .setup = setup_spurious,
        .finish = finish_all_acquired,
        .threads = {EXECUTORS, {"releaser", releaser}, {"waker", spurious}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "cancel",
        .promise = "release against cancel: the permit goes to one of both sides (F-E3)",
        .setup = setup_cancel,
        .finish = finish,
        .threads = {EXECUTORS, {"releaser", releaser}, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "partial-cancel",
        .promise = "a waiter dropped with a part of its permits serves the next (F-E5)",
        .setup = setup_partial,
        .finish = finish,
        .threads = {EXECUTORS, {"releaser", releaser}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "contend",
        .promise = "two tasks and a thread that tries: never two holders, all get it",
        .setup = setup_contend,
        .finish = finish_all_acquired,
        .threads = {EXECUTORS, {"thread", try_locker}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "fair",
        .promise = "first come, first served, beside a thread that tries again and again",
        .setup = setup_fair,
        .finish = finish_all_acquired,
        .threads = {EXECUTORS, {"thread", greedy}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "again",
        .promise = "tasks that come again in one poll: a queue of them is dissolved, in "
                   "order, and none is forgotten",
        .setup = setup_again,
        .finish = finish_all_acquired,
        .threads = {EXECUTORS, {"releaser", releaser}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "again-all",
        .promise =
            "beside a newcomer nobody loses its place; a part that was had comes back",
        .setup = setup_again_all,
        .finish = finish_all_acquired,
        .threads = {EXECUTORS, {"releaser", releaser}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "again-cancel",
        .promise =
            "one that is cancelled when its queue is dissolved has nothing to give",
        .setup = setup_again_cancel,
        .finish = finish,
        .threads = {EXECUTORS, {"releaser", releaser}, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "back",
        .promise = "acquirers that step back get it in the end, or queue, in order",
        .setup = setup_back,
        .finish = finish,
        .threads = {EXECUTORS, {"releaser", releaser}, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "back-close",
        .promise =
            "closing against acquirers that step back: each is answered, and none does "
            "so for ever",
        .setup = setup_back_already,
        .finish = finish_closed,
        .threads = {EXECUTORS, {"closer", closer}, {"joiner", joiner}},
        .preempt = 1,
        .stale = 1,
        .dfs = 20000,
    },
    {
        .name = "close",
        .promise = "closing against acquiring: each is answered, permits come back",
        .setup = setup_close,
        .finish = finish_closed,
        .threads = {EXECUTORS, {"closer", closer}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "close-cancel",
        .promise = "closing against a release and a cancellation: one of them answers",
        .setup = setup_close_cancel,
        .finish = finish,
        .threads = {EXECUTORS,
                    {"releaser", releaser},
                    {"closer", closer},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "sem",
    .about = "the semaphore: grant against cancel against drop",
    .scenarios = scenarios,
};

/* Model of lib/driver (driver.c, wheel.c, registration.c) and lib/io/sleep.c over a loop
 * without a kernel; tasks are run by executors, one thread is the leader.
 *
 * Oracle: every armed timer fires, never early and, while the leader sleeps, not late
 * (INV-8); an entry is never touched after it has fired or was cancelled; a descriptor
 * registered meanwhile is added, its edge wakes its reader, its memory goes once; a short
 * read or write of a stream that ends misses nothing;
 * shutdown answers everybody. */
#include <errno.h>
#include <string.h>
#include "driver/driver.h"
#include "driver/registration.h"
#include "executor.h"
#include "loop_stub.h"
#include "mcx.h"
#include <volt/time.h>

struct job {
    struct volt_sleep sleep;
    struct registration *reg;
    int busy; /* annotated: by poll and drop */
};

static struct driver *driver;
static struct volt_join handle;
static int fired, dropped, tasks, late_by_shutdown;
static uint64_t slack_usec; /* how late a timer may fire */

struct driver *runtime_driver(const struct volt_runtime *rt)
{
    (void)rt;
    return driver;
}

unsigned worker_wheel(const struct worker *w)
{
    (void)w;
    return (unsigned)mcx_self() & 1;
}

uint64_t worker_clock_usec(const struct worker *w)
{
    (void)w;
    return 0;
}

static void start(bool (*quiet)(void))
{
    executor_reset();
    loop_stub_reset(quiet);
    MCX_CHECK(driver_new(2, &driver) == 0);
    mcx_name(driver, 1 << 15, "driver");
    handle.task = NULL;
    fired = dropped = tasks = late_by_shutdown = 0;
    slack_usec = 0;
}

static void leader(void)
{
    mcx_daemon();
    for (;;) {
        struct task_chain chain = {0};

        if (!driver_try_enter(driver)) {
            mcx_yield();
            continue;
        }
        driver_lead(driver, UINT64_MAX, &chain);
        driver_leave(driver);
        sched_submit_chain(&chain);
    }
}

/* --- timers ------------------------------------------------------------------------- */

static enum volt_poll poll_sleep(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_sleep_poll(cx, &j->sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!late_by_shutdown) {
        MCX_CHECK(volt_now_usec() >= j->sleep.deadline_usec);
        if (loop_stub.quiet && volt_now_usec() > j->sleep.deadline_usec + slack_usec)
            mcx_fail("a timer for %d fires at %d", (int)j->sleep.deadline_usec,
                     (int)volt_now_usec());
    }
    VAT_WR(&j->sleep.slot); /* the entry is its owner's again */
    fired++;
    return VOLT_READY;
}

static void drop_sleep(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_sleep_fini(&j->sleep);
    dropped++;
}

static const struct volt_task_type sleep_type = {
    .name = "sleep",
    .size = sizeof(struct job),
    .poll = poll_sleep,
    .drop = drop_sleep,
};

static struct volt_task *spawn_sleep(uint64_t deadline_usec, struct volt_join *ret_join)
{
    struct volt_task *t = executor_spawn(&sleep_type, ret_join, false);
    struct job *j = task_state(t);

    volt_sleep_init_at(&j->sleep, deadline_usec);
    tasks++;
    return t;
}

static struct volt_waker waker;

static void setup_spurious(void)
{
    start(NULL);
    waker = executor_waker(spawn_sleep(5000, NULL));
}

static void spurious(void)
{
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
}

static void setup_arm(void)
{
    start(executor_idle);
    (void)spawn_sleep(7000, NULL);
}

static void setup_arm_two(void)
{
    start(executor_idle);
    (void)spawn_sleep(7000, NULL);
    (void)spawn_sleep(5000, NULL);
}

static void setup_arm_cancel(void)
{
    start(NULL);
    (void)spawn_sleep(5000, &handle);
    (void)spawn_sleep(5000, NULL);
}

static void setup_arm_cancel_one(void)
{
    start(NULL);
    (void)spawn_sleep(5000, &handle);
}

/* Three in one coarse slot: it is emptied in portions of one. */
static void setup_portions(void)
{
    start(NULL);
    (void)spawn_sleep(10000, &handle);
    (void)spawn_sleep(10100, NULL);
    (void)spawn_sleep(10200, NULL);
}

static void setup_portions_quiet(void)
{
    start(executor_idle);
    (void)spawn_sleep(10200, NULL);
    (void)spawn_sleep(10000, NULL);
    slack_usec = 200; /* the leader gathers */
}

/* It is tick 10. That slot of the finest level which is farthest away, and what lies one
 * tick behind it; when the earliest is cancelled the next one is looked for among all. */
static void setup_last_slot(void)
{
    start(executor_idle);
    (void)spawn_sleep(7400, NULL);
    (void)spawn_sleep(7300, NULL);
    (void)spawn_sleep(2000, NULL);
    (void)spawn_sleep(1100, &handle);
    slack_usec = 200; /* the leader gathers */
}

/* The last tick of the wheel's last slot, and the one behind it. */
static void setup_last_level(void)
{
    start(executor_idle);
    (void)spawn_sleep(204800, NULL);
    (void)spawn_sleep(204700, NULL);
    (void)spawn_sleep(9000, NULL);
    (void)spawn_sleep(8000, &handle);
    slack_usec = 200;
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

/* A worker that polls the driver now and then. */
static void busy_worker(void)
{
    for (int i = 0; i < 2; i++) {
        struct task_chain chain = {0};

        driver_fire_own(driver, 0, volt_now_usec(), &chain);
        if (driver_try_enter(driver)) {
            driver_poll(driver, &chain);
            driver_leave(driver);
        }
        sched_submit_chain(&chain);
    }
}

static void shutter(void)
{
    struct task_chain chain = {0};

    late_by_shutdown = 1;
    driver_shutdown(driver, &chain);
    sched_submit_chain(&chain);
}

static void end_driver(void)
{
    /* What was queued for the loop is taken out by the end. */
    driver_free(driver);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish(void)
{
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended", dropped, tasks);
    MCX_CHECK(driver_timers(driver) == 0);
    MCX_CHECK(driver_next_deadline(driver) == UINT64_MAX);
    end_driver();
}

/* --- descriptors -------------------------------------------------------------------- */

static bool no_edges; /* only shutdown makes anything ready */

static enum volt_poll poll_read(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->reg && driver_register(driver, 3, &j->reg) < 0)
        return VOLT_READY;
    if (!readiness_poll(j->reg, DIR_READ, cx->task, false))
        return VOLT_PENDING;
    if (no_edges)
        MCX_CHECK(readiness_error(j->reg) == -ESHUTDOWN);
    fired++;
    return VOLT_READY;
}

static void drop_read(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (j->reg)
        driver_unregister(j->reg);
    dropped++;
}

static const struct volt_task_type read_type = {
    .name = "read",
    .size = sizeof(struct job),
    .poll = poll_read,
    .drop = drop_read,
};

static void setup_read(void)
{
    no_edges = false;
    start(executor_idle);
    (void)executor_spawn(&read_type, &handle, false);
    tasks = 1;
}

static void setup_no_edges(void)
{
    setup_read();
    no_edges = true;
}

/* Sleeps, then reads while the leader gathers timers. */
static enum volt_poll poll_sleep_and_read(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->reg) {
        if (volt_sleep_poll(cx, &j->sleep) == VOLT_PENDING)
            return VOLT_PENDING;
        loop_stub.events = EVENT_READABLE;
        MCX_CHECK(driver_register(driver, 3, &j->reg) == 0);
    }
    if (!readiness_poll(j->reg, DIR_READ, cx->task, false))
        return VOLT_PENDING;
    MCX_CHECK(volt_now_usec() == j->sleep.deadline_usec);
    fired++;
    return VOLT_READY;
}

static void drop_sleep_and_read(void *state)
{
    struct job *j = state;

    volt_sleep_fini(&j->sleep);
    drop_read(state);
}

static const struct volt_task_type sleep_and_read_type = {
    .name = "sleep and read",
    .size = sizeof(struct job),
    .poll = poll_sleep_and_read,
    .drop = drop_sleep_and_read,
};

static void setup_gather(void)
{
    start(executor_idle);
    struct job *j = task_state(executor_spawn(&sleep_and_read_type, NULL, false));

    volt_sleep_init_at(&j->sleep, 5000);
    tasks = 1;
    (void)spawn_sleep(5100, NULL);
    slack_usec = 200;
}

/* Two bytes arrive, each with an edge; the reader reads one at a time until EAGAIN. */
static int bytes;

static enum volt_poll poll_stream(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->reg && driver_register(driver, 3, &j->reg) < 0)
        return VOLT_READY;
    while (fired < 2) {
        if (!readiness_poll(j->reg, DIR_READ, cx->task, true))
            return VOLT_PENDING;
        mcx_yield(); /* read(2) */
        if (bytes > 0) {
            bytes--;
            fired++;
            continue;
        }
        readiness_clear(j->reg, DIR_READ);
    }
    return VOLT_READY;
}

static const struct volt_task_type stream_type = {
    .name = "stream",
    .size = sizeof(struct job),
    .poll = poll_stream,
    .drop = drop_read,
};

static void setup_stream(void)
{
    start(executor_idle);
    (void)executor_spawn(&stream_type, &handle, false);
    tasks = 1;
    bytes = 0;
}

static void edge(void)
{
    loop_stub_edge();
}

static void writer(void)
{
    for (int i = 0; i < 2; i++) {
        mcx_yield();
        bytes++;
        loop_stub.events |= EVENT_READABLE;
    }
}

/* TCP: a byte, the end, and an event that says nothing new. The end is told once. The
 * reader has room for two bytes. */
static bool stream_ended;

static enum volt_poll poll_short(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->reg && driver_register(driver, 3, &j->reg) < 0)
        return VOLT_READY;
    for (;;) {
        if (!readiness_poll(j->reg, DIR_READ, cx->task, true))
            return VOLT_PENDING;
        mcx_yield(); /* recv(2) */
        if (bytes > 0) {
            bytes = 0;
            fired++;
            readiness_clear_short(j->reg, DIR_READ);
        } else if (stream_ended) {
            MCX_CHECK(fired == 1);
            return VOLT_READY;
        } else {
            readiness_clear(j->reg, DIR_READ);
        }
    }
}

static const struct volt_task_type short_type = {
    .name = "short",
    .size = sizeof(struct job),
    .poll = poll_short,
    .drop = drop_read,
};

static void setup_short(void)
{
    start(executor_idle);
    (void)executor_spawn(&short_type, &handle, false);
    tasks = 1;
    bytes = 0;
    stream_ended = false;
}

static void tcp_peer(void)
{
    mcx_yield();
    bytes = 1;
    mcx_yield();
    loop_stub.events |= EVENT_READABLE;
    mcx_yield();
    stream_ended = true;
    mcx_yield();
    loop_stub.events |= EVENT_READABLE | EVENT_ENDED;
    mcx_yield();
    loop_stub.events |= EVENT_READABLE;
}

/* The same for writes: three bytes into a buffer that has room for one. The peer makes
 * room for one more and breaks the connection. Room is told only to those who found too
 * little of it (SOCK_NOSPACE). */
static int room;
static bool no_space, broken;

static enum volt_poll poll_write(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (!j->reg && driver_register(driver, 3, &j->reg) < 0)
        return VOLT_READY;
    for (;;) {
        if (!readiness_poll(j->reg, DIR_WRITE, cx->task, true))
            return VOLT_PENDING;
        mcx_yield(); /* send(2) */
        if (broken)
            return VOLT_READY;
        no_space = true; /* three bytes never fit */
        if (room > 0) {
            room = 0;
            readiness_clear_short(j->reg, DIR_WRITE);
        } else {
            readiness_clear(j->reg, DIR_WRITE);
        }
    }
}

static const struct volt_task_type write_type = {
    .name = "write",
    .size = sizeof(struct job),
    .poll = poll_write,
    .drop = drop_read,
};

static void setup_write(void)
{
    start(executor_idle);
    (void)executor_spawn(&write_type, &handle, false);
    tasks = 1;
    room = 1;
    no_space = broken = false;
}

static void tcp_peer_of_writer(void)
{
    mcx_yield();
    room++;
    if (no_space) {
        no_space = false;
        loop_stub.events |= EVENT_WRITABLE;
    }
    mcx_yield();
    broken = true;
    mcx_yield();
    loop_stub.events |= EVENT_READABLE | EVENT_WRITABLE | EVENT_ENDED;
}

static void detacher(void)
{
    volt_join_fini(&handle);
}

static void finish_read(void)
{
    struct task_chain none = {0};

    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended", dropped, tasks);
    MCX_CHECK(driver_io_handles(driver) == 0);
    vat_u32 *turn =
        (vat_u32 *)(void *)driver; /* the leader sleeps inside: take its place */
    vat_u32_init(turn, 0);
    MCX_CHECK(driver_try_enter(driver));
    driver_poll(driver, &none);
    driver_leave(driver);
    end_driver();
}

static void finish_gather(void)
{
    MCX_CHECK(driver_timers(driver) == 0);
    finish_read();
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "arm",
        .promise = "a timer armed while the leader goes to sleep fires on time (INV-8)",
        .setup = setup_arm,
        .finish = finish,
        .threads = {{"leader", leader}, {"executor", executor_run}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "arm-two",
        .promise =
            "two timers on two wheels: the earlier one is told to the sleeping leader",
        .setup = setup_arm_two,
        .finish = finish,
        .threads = {{"leader", leader}, EXECUTORS},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "gather",
        .promise = "a leader that waits for more timers hears of a descriptor",
        .setup = setup_gather,
        .finish = finish_gather,
        .threads = {{"leader", leader}, {"executor", executor_run}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "fire-spurious",
        .promise =
            "firing against a poll for nothing: the firing is seen, and its last touch",
        .setup = setup_spurious,
        .finish = finish,
        .threads = {{"leader", leader}, EXECUTORS, {"waker", spurious}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "fire-cancel",
        .promise = "firing against cancelling: the entry is left in peace by one of them",
        .setup = setup_arm_cancel,
        .finish = finish,
        .threads = {{"leader", leader}, EXECUTORS, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "busy-poll",
        .promise = "a busy worker polls beside the leader: one is inside at a time",
        .setup = setup_arm_cancel,
        .finish = finish,
        .threads = {{"leader", leader},
                    EXECUTORS,
                    {"canceller", canceller},
                    {"busy worker", busy_worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    /* The same without what two timers and their executors do to each other, which
     * "fire-cancel" has. */
    {
        .name = "busy-poll-one",
        .promise = "the same with one timer",
        .setup = setup_arm_cancel_one,
        .finish = finish,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"canceller", canceller},
                    {"busy worker", busy_worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "portions",
        .promise = "a coarse slot emptied by two threads beside cancelling: all fire",
        .setup = setup_portions,
        .finish = finish,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"canceller", canceller},
                    {"busy worker", busy_worker}},
        .preempt = 1,
        .stale = 1,
        .dfs = 10000,
    },
    {
        .name = "portions-quiet",
        .promise = "a leader moves portions while it sleeps; nobody is late for them",
        .setup = setup_portions_quiet,
        .finish = finish,
        .threads = {{"leader", leader}, {"executor", executor_run}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "last-slot",
        .promise = "timers at the end of a level, and behind it, fire on time",
        .setup = setup_last_slot,
        .finish = finish,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 0,
        .dfs = 5000,
    },
    {
        .name = "last-level",
        .promise = "and at the end of the wheel",
        .setup = setup_last_level,
        .finish = finish,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"canceller", canceller}},
        .preempt = 1,
        .stale = 0,
        .dfs = 5000,
    },
    {
        .name = "shutdown",
        .promise = "shutdown against arming: every sleeper is answered",
        .setup = setup_arm_two,
        .finish = finish,
        .threads = {{"leader", leader}, EXECUTORS, {"shutter", shutter}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "read",
        .promise =
            "a descriptor registered while the leader sleeps is added; its edge wakes",
        .setup = setup_read,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"kernel", edge},
                    {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "read-cancel",
        .promise =
            "cancelling the reader against its edge: the registration is freed once",
        .setup = setup_read,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"kernel", edge},
                    {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "read-shutdown",
        .promise = "shutdown against registering: the reader is answered",
        .setup = setup_no_edges,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"shutter", shutter},
                    {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "stream",
        .promise =
            "an edge between EAGAIN and the clearing of readiness is not wiped out",
        .setup = setup_stream,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"kernel", writer},
                    {"detacher", detacher}},
        .preempt = 3,
        .stale = 1,
    },
    {
        .name = "short",
        .promise = "a short read clears readiness, and no byte and no end is missed",
        .setup = setup_short,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"kernel", tcp_peer},
                    {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "short-write",
        .promise = "a short write clears readiness, and neither room nor a reset is missed",
        .setup = setup_write,
        .finish = finish_read,
        .threads = {{"leader", leader},
                    {"executor", executor_run},
                    {"kernel", tcp_peer_of_writer},
                    {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "driver",
    .about = "the driver: leader, timers, registrations, shutdown",
    .scenarios = scenarios,
};

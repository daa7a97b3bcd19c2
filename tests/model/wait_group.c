/* Model of lib/sync/wait_group.c and broadcast.c.
 *
 * Oracle: a wait ends when everything is done, and not before, and sees what was written;
 * the group is the waiter's from then on, whatever the last one to be done still does.
 * Of a broadcast each receiver gets every value that the ring can hold, in their order,
 * and is told of those that it has missed and of the end. */
#include <errno.h>
#include <string.h>
#include "executor.h"
#include "mcx.h"
#include <volt/broadcast.h>
#include <volt/wait_group.h>

struct job {
    struct volt_wait_group_wait wait;
    struct volt_broadcast_recv recv;
    int value, last;
    int busy; /* annotated: by poll and drop */
};

static struct volt_wait_group *group;
static struct volt_broadcast *broadcast;
static int written[2]; /* annotated: before _done, read after the wait */
static int waited, dropped, tasks, got, missed, ended;
static bool closes; /* the sender, after value 3 */
static struct volt_join handle;
static struct volt_waker waker;

static void start(void)
{
    executor_reset();
    group = NULL;
    broadcast = NULL;
    waited = dropped = tasks = got = missed = ended = 0;
    closes = true;
    handle.task = NULL;
    waker.task = NULL;
}

/* --- wait group --------------------------------------------------------------------- */

static enum volt_poll poll_wait(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_wait_group_wait_poll(cx, &j->wait) == VOLT_PENDING)
        return VOLT_PENDING;
    VAT_RD(&written[0]);
    VAT_RD(&written[1]);
    waited++;
    if (tasks == 1) {
        mcx_free(group);
        group = NULL;
    }
    return VOLT_READY;
}

static void drop_wait(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (group)
        volt_wait_group_wait_fini(&j->wait);
    dropped++;
}

static const struct volt_task_type wait_type = {
    .name = "wait",
    .size = sizeof(struct job),
    .poll = poll_wait,
    .drop = drop_wait,
};

static void spawn_wait(struct volt_join *ret_join)
{
    struct volt_task *t = executor_spawn(&wait_type, ret_join, false);

    volt_wait_group_wait_init(&((struct job *)task_state(t))->wait, group);
    if (!waker.task)
        waker = executor_waker(t);
    tasks++;
}

static void setup_wait(void)
{
    start();
    group = mcx_malloc(sizeof(*group));
    volt_wait_group_init(group, 2);
    mcx_name(group, sizeof(*group), "wait_group");
    spawn_wait(NULL);
}

static void setup_waits(void)
{
    setup_wait();
    spawn_wait(&handle);
}

static void done_0(void)
{
    VAT_WR(&written[0]);
    volt_wait_group_done(group);
}

static void done_1(void)
{
    VAT_WR(&written[1]);
    volt_wait_group_done(group);
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

static void end_waits(void)
{
    volt_waker_fini(&waker);
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    if (group)
        mcx_free(group);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_waited(void)
{
    MCX_CHECK(waited == tasks);
    end_waits();
}

static void finish_cancelled(void)
{
    MCX_CHECK(waited >= 1);
    end_waits();
}

/* --- broadcast ---------------------------------------------------------------------- */

static enum volt_poll poll_recv(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    for (;;) {
        if (volt_broadcast_recv_poll(cx, &j->recv) == VOLT_PENDING)
            return VOLT_PENDING;
        if (volt_broadcast_recv_status(&j->recv) < 0)
            break;
        MCX_CHECK(j->value == j->last + 1 + (int)j->recv.missed);
        j->last = j->value;
        missed += (int)j->recv.missed;
        got++;
        if (!closes && j->value == 3)
            break;
    }
    ended++;
    return VOLT_READY;
}

static void drop_recv(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_broadcast_recv_fini(&j->recv);
    dropped++;
}

static const struct volt_task_type recv_type = {
    .name = "receive",
    .size = sizeof(struct job),
    .poll = poll_recv,
    .drop = drop_recv,
};

static void spawn_recv(struct volt_join *ret_join)
{
    struct volt_task *t = executor_spawn(&recv_type, ret_join, false);
    struct job *j = task_state(t);

    volt_broadcast_recv_init(&j->recv, broadcast, &j->value);
    if (!waker.task)
        waker = executor_waker(t);
    tasks++;
}

static void setup_recv(void)
{
    start();
    broadcast = volt_broadcast_new(sizeof(int), 2);
    mcx_name(broadcast, 64, "broadcast");
    spawn_recv(NULL);
}

static void setup_recv_open(void)
{
    setup_recv();
    closes = false;
}

static void setup_recv_two(void)
{
    setup_recv();
    spawn_recv(&handle);
}

static void sender(void)
{
    for (int v = 1; v <= 3; v++)
        MCX_CHECK(volt_broadcast_try_send(broadcast, &v) == 0);
    if (closes)
        volt_broadcast_close(broadcast);
}

static void end_recv(void)
{
    volt_waker_fini(&waker);
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    volt_broadcast_free(broadcast);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_recv(void)
{
    MCX_CHECK(got + missed == 3 * tasks && ended == tasks);
    end_recv();
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "wait",
        .promise = "the last to be done wakes the waiter, which frees the group at once",
        .setup = setup_wait,
        .finish = finish_waited,
        .threads = {EXECUTORS, {"done", done_0}, {"done 2", done_1}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "wait-spurious",
        .promise =
            "polled for another reason meanwhile: it waits on, and frees no sooner",
        .setup = setup_wait,
        .finish = finish_waited,
        .threads = {EXECUTORS, {"done", done_0}, {"done 2", done_1}, {"waker", spurious}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "wait-cancel",
        .promise = "of two that wait one is cancelled: the other is woken",
        .setup = setup_waits,
        .finish = finish_cancelled,
        .threads =
            {EXECUTORS, {"done", done_0}, {"done 2", done_1}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "broadcast",
        .promise = "every value, or the number of those that were missed, and the end",
        .setup = setup_recv,
        .finish = finish_recv,
        .threads = {EXECUTORS, {"sender", sender}, {"waker", spurious}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "broadcast-open",
        .promise = "each value wakes a receiver that waits",
        .setup = setup_recv_open,
        .finish = finish_recv,
        .threads = {EXECUTORS, {"sender", sender}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "broadcast-cancel",
        .promise = "of two receivers one is cancelled: no touch afterwards",
        .setup = setup_recv_two,
        .finish = end_recv,
        .threads = {EXECUTORS, {"sender", sender}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "wait_group",
    .about = "wait group: the last to be done; broadcast: each gets everything",
    .scenarios = scenarios,
};

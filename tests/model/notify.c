/* Model of lib/sync/notify.c and oneshot.c.
 *
 * Oracle: a notify_one wakes somebody or leaves a permit, also when its waiter is
 * cancelled; a notify_all reaches every leaf that was born before it; a oneshot's value
 * arrives once or is discarded, both ends are told, its memory goes with the second end.
 */
#include <errno.h>
#include <string.h>
#include "executor.h"
#include "mcx.h"
#include <volt/sync.h>

struct job {
    struct volt_notified notified;
    struct volt_oneshot_recv recv;
    int value;
    int busy; /* annotated: by poll and drop */
};

static struct volt_notify *notify;
static struct volt_oneshot *oneshot;
static int written; /* annotated: before the wake, read after it */
static int notified, received, refused, dropped, tasks;
static struct volt_join handle;

static void start(void)
{
    executor_reset();
    notify = mcx_malloc(sizeof(*notify));
    volt_notify_init(notify);
    mcx_name(notify, sizeof(*notify), "notify");
    oneshot = NULL;
    notified = received = refused = dropped = tasks = 0;
    handle.task = NULL;
}

/* --- notify ------------------------------------------------------------------------- */

static enum volt_poll poll_notified(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_notified_poll(cx, &j->notified) == VOLT_PENDING)
        return VOLT_PENDING;
    VAT_RD(&written);
    notified++;
    return VOLT_READY;
}

static void drop_notified(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_notified_fini(&j->notified);
    dropped++;
}

static const struct volt_task_type notified_type = {
    .name = "notified",
    .size = sizeof(struct job),
    .poll = poll_notified,
    .drop = drop_notified,
};

static void spawn_notified(struct volt_join *ret_join)
{
    struct job *j = task_state(executor_spawn(&notified_type, ret_join, false));

    volt_notified_init(&j->notified, notify);
    tasks++;
}

static void setup_one(void)
{
    start();
    spawn_notified(NULL);
}

static void setup_two(void)
{
    start();
    spawn_notified(&handle);
    spawn_notified(NULL);
}

static void setup_two_kept(void)
{
    start();
    spawn_notified(NULL);
    spawn_notified(NULL);
}

static void notify_one(void)
{
    VAT_WR(&written);
    volt_notify_one(notify);
}

static void notify_one_mute(void)
{
    volt_notify_one(notify);
}

static void notify_all_mute(void)
{
    volt_notify_all(notify);
}

static void notify_all(void)
{
    VAT_WR(&written);
    volt_notify_all(notify);
}

static void canceller(void)
{
    volt_join_cancel(&handle);
    volt_join_fini(&handle);
}

static void finish_notify(void)
{
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    volt_notify_fini(notify);
    MCX_CHECK(mcx_live_objects() == 1);
}

static void finish_all_notified(void)
{
    MCX_CHECK(notified == 2);
    finish_notify();
}

/* One wake, and the second task would take it at any time: somebody has had it. */
static void finish_one_cancel(void)
{
    MCX_CHECK(notified == 1);
    MCX_CHECK(dropped >= 1);
}

/* --- oneshot ------------------------------------------------------------------------ */

static enum volt_poll poll_recv(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (volt_oneshot_recv_poll(cx, &j->recv) == VOLT_PENDING)
        return VOLT_PENDING;
    int status = volt_oneshot_recv_status(&j->recv);
    if (status == 0) {
        MCX_CHECK(j->value == 42);
        received++;
    } else {
        MCX_CHECK(status == -EPIPE);
        refused++;
    }
    return VOLT_READY;
}

static void drop_recv(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_oneshot_recv_fini(&j->recv);
    dropped++;
}

static const struct volt_task_type recv_type = {
    .name = "receive",
    .size = sizeof(struct job),
    .poll = poll_recv,
    .drop = drop_recv,
};

static void setup_recv(void)
{
    start();
    oneshot = volt_oneshot_new(sizeof(int));
    mcx_name(oneshot, 64, "oneshot");
    struct job *j = task_state(executor_spawn(&recv_type, &handle, false));

    volt_oneshot_recv_init(&j->recv, oneshot, &j->value);
    tasks++;
}

static void setup_thread(void)
{
    start();
    oneshot = volt_oneshot_new(sizeof(int));
    mcx_name(oneshot, 64, "oneshot");
}

static void sender(void)
{
    int value = 42, r = volt_oneshot_try_send(oneshot, &value);

    MCX_CHECK(r == 0 || r == -EPIPE);
}

static void send_dropper(void)
{
    volt_oneshot_send_fini(oneshot);
}

static void detacher(void)
{
    volt_join_fini(&handle);
}

static void receiving_thread(void)
{
    struct volt_oneshot_recv recv;
    int value = 0;

    volt_oneshot_recv_init(&recv, oneshot, &value);
    if (volt_oneshot_recv_wait(&recv) == 0) {
        MCX_CHECK(value == 42);
        received++;
    }
    volt_oneshot_recv_fini(&recv);
}

static void finish_received(void)
{
    MCX_CHECK(received == 1);
    finish_notify();
}

static void finish_thread(void)
{
    MCX_CHECK(received == 0);
    finish_notify();
}

static void finish_refused(void)
{
    MCX_CHECK(refused == 1);
    finish_notify();
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "one",
        .promise = "a notify_one at any time wakes the waiter or leaves it a permit",
        .setup = setup_one,
        .finish = finish_notify,
        .threads = {EXECUTORS, {"notifier", notify_one}},
        .preempt = 3,
        .stale = 1,
    },
    {
        .name = "one-cancel",
        .promise =
            "of two waiters one is cancelled: a wake given to it goes to the other",
        .setup = setup_two,
        .finish = finish_one_cancel,
        .threads = {EXECUTORS, {"notifier", notify_one}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "all",
        .promise = "a notify_all reaches every leaf born before it, polled yet or not",
        .setup = setup_two,
        .finish = finish_notify,
        .threads = {EXECUTORS, {"notifier", notify_all}, {"detacher", detacher}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "all-cancel",
        .promise =
            "notify_all against cancelling one of its waiters: no touch afterwards",
        .setup = setup_two,
        .finish = finish_notify,
        .threads = {EXECUTORS, {"notifier", notify_all}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "one-all",
        .promise = "notify_one and notify_all at once: both waiters have been woken",
        .setup = setup_two_kept,
        .finish = finish_all_notified,
        .threads = {EXECUTORS, {"one", notify_one_mute}, {"all", notify_all_mute}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "send",
        .promise = "the value reaches the receiving task, whenever it polls",
        .setup = setup_recv,
        .finish = finish_received,
        .threads = {EXECUTORS, {"sender", sender}, {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "send-cancel",
        .promise = "sending against cancelling the receiver: memory goes once",
        .setup = setup_recv,
        .finish = finish_notify,
        .threads = {EXECUTORS, {"sender", sender}, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "send-drop",
        .promise = "a sender that gives up is noticed",
        .setup = setup_recv,
        .finish = finish_refused,
        .threads = {EXECUTORS, {"sender", send_dropper}, {"detacher", detacher}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "recv-thread",
        .promise = "the value reaches a blocked thread",
        .setup = setup_thread,
        .finish = finish_received,
        .threads = {{"sender", sender}, {"receiver", receiving_thread}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "recv-thread-drop",
        .promise = "a blocked thread hears that the sender has given up",
        .setup = setup_thread,
        .finish = finish_thread,
        .threads = {{"sender", send_dropper}, {"receiver", receiving_thread}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "send-cancel-drop",
        .promise = "both ends give up at once: memory goes once",
        .setup = setup_recv,
        .finish = finish_notify,
        .threads = {EXECUTORS, {"sender", send_dropper}, {"canceller", canceller}},
        .preempt = 1,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "notify",
    .about = "notify and oneshot: no wake is lost, both ends may go at any time",
    .scenarios = scenarios,
};

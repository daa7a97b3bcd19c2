/* Model of lib/sync/channel.c, with room for two values.
 *
 * Oracle: every value that was sent is received, once, whole, those of one sender in
 * their order; none that was refused is; every sender is answered, and the receiver gets
 * what is there and learns of the end, although no timeout fires and any of them may be
 * cancelled. */
#include <errno.h>
#include "executor.h"
#include "mcx.h"
#include <volt/channel.h>

enum { VALUES = 8 };

struct job {
    struct volt_channel_send send;
    struct volt_channel_recv recv;
    int from, to, status; /* sender: values [from, to), going on at `from` */
    int value;
    int busy; /* annotated: by poll and drop */
};

static struct volt_channel *ch;
static bool sent[VALUES], refused[VALUES], received[VALUES];
static int last_of[2]; /* the newest value received of either sender */
static int expected;   /* the receiver ends after so many */
static int count, ended, dropped, tasks;
static int written; /* annotated: before closing, read at the end */
static struct volt_join handle;
static struct volt_waker waker;

static void start(int until)
{
    executor_reset();
    ch = volt_channel_new(sizeof(int), 1);
    mcx_name(ch, 512, "channel");
    for (int i = 0; i < VALUES; i++)
        sent[i] = refused[i] = received[i] = false;
    last_of[0] = last_of[1] = -1;
    expected = until;
    count = ended = dropped = tasks = 0;
    handle.task = NULL;
    waker.task = NULL;
}

static enum volt_poll poll_send(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    for (; j->from < j->to; j->from++) {
        if (j->send.channel == NULL) {
            j->value = j->from;
            volt_channel_send_init(&j->send, ch, &j->value);
        }
        if (volt_channel_send_poll(cx, &j->send) == VOLT_PENDING)
            return VOLT_PENDING;
        (volt_channel_send_status(&j->send) == 0 ? sent : refused)[j->from] = true;
        j->send.channel = NULL;
    }
    return VOLT_READY;
}

static void drop_send(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    if (j->send.channel)
        volt_channel_send_fini(&j->send);
    dropped++;
}

static const struct volt_task_type send_type = {
    .name = "send",
    .size = sizeof(struct job),
    .poll = poll_send,
    .drop = drop_send,
};

static void got(int value)
{
    int who = value >= VALUES / 2;

    MCX_CHECK(value >= 0 && value < VALUES && !received[value]);
    MCX_CHECK(value > last_of[who]);
    last_of[who] = value;
    received[value] = true;
    count++;
}

static enum volt_poll poll_recv(struct volt_cx *cx, void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    while (count < expected) {
        if (!j->recv.channel)
            volt_channel_recv_init(&j->recv, ch, &j->value);
        if (volt_channel_recv_poll(cx, &j->recv) == VOLT_PENDING)
            return VOLT_PENDING;
        j->status = volt_channel_recv_status(&j->recv);
        if (j->status < 0) {
            MCX_CHECK(j->status == -EPIPE);
            VAT_RD(&written);
            ended++;
            break;
        }
        got(j->value);
    }
    return VOLT_READY;
}

static void drop_recv(void *state)
{
    struct job *j = state;

    VAT_WR(&j->busy);
    volt_channel_recv_fini(&j->recv);
    dropped++;
}

static const struct volt_task_type recv_type = {
    .name = "receive",
    .size = sizeof(struct job),
    .poll = poll_recv,
    .drop = drop_recv,
};

static struct volt_task *spawn_sender(int who, int values, struct volt_join *ret_join)
{
    struct volt_task *t = executor_spawn(&send_type, ret_join, false);
    struct job *j = task_state(t);

    j->from = who * VALUES / 2;
    j->to = j->from + values;
    tasks++;
    return t;
}

static struct volt_task *spawn_receiver(struct volt_join *ret_join)
{
    tasks++;
    return executor_spawn(&recv_type, ret_join, false);
}

/* More values than room: both sides wait. */
static void setup_two(void)
{
    start(4);
    (void)spawn_sender(0, 3, NULL);
    (void)spawn_sender(1, 1, NULL);
    (void)spawn_receiver(NULL);
}

static void setup_one(void)
{
    start(3);
    (void)spawn_sender(0, 3, NULL);
    waker = executor_waker(spawn_receiver(NULL));
}

static void setup_try(void)
{
    start(VALUES);
    (void)spawn_receiver(NULL);
}

static void setup_thread(void)
{
    start(VALUES);
}

static void setup_sending_thread(void)
{
    start(VALUES);
    (void)spawn_sender(1, 1, NULL);
    (void)spawn_receiver(NULL);
}

static void setup_cancel(void)
{
    start(VALUES);
    (void)spawn_sender(0, 3, &handle);
    (void)spawn_sender(1, 1, NULL);
    (void)spawn_receiver(NULL);
}

static void setup_close(void)
{
    start(VALUES);
    (void)spawn_sender(0, 4, NULL);
    (void)spawn_receiver(NULL);
}

static void setup_recv_cancel(void)
{
    start(VALUES);
    (void)spawn_sender(0, 1, NULL);
    (void)spawn_receiver(&handle);
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

static void closer(void)
{
    VAT_WR(&written);
    volt_channel_close(ch);
}

static void try_sender(void)
{
    for (int v = 0; v < 3; v++) {
        int r = volt_channel_try_send(ch, &v);

        MCX_CHECK(r == 0 || r == -EAGAIN);
        sent[v] = r == 0;
        refused[v] = r != 0;
    }
    closer();
}

static void sending_thread(void)
{
    struct volt_channel_send send;

    for (int v = 0; v < 3; v++) {
        volt_channel_send_init(&send, ch, &v);
        int r = volt_channel_send_wait(&send);

        MCX_CHECK(r == 0 || r == -EPIPE);
        (r == 0 ? sent : refused)[v] = true;
        volt_channel_send_fini(&send);
    }
}

static void sending_thread_closes(void)
{
    sending_thread();
    closer();
}

static void receiving_thread(void)
{
    struct volt_channel_recv recv;
    int value;

    volt_channel_recv_init(&recv, ch, &value);
    while (volt_channel_recv_wait(&recv) == 0)
        got(value);
    MCX_CHECK(volt_channel_recv_status(&recv) == -EPIPE);
    volt_channel_recv_fini(&recv);
    VAT_RD(&written);
    ended++;
}

/* May values be left, because the receiver went first? */
static void finish(bool all)
{
    if (dropped != tasks)
        mcx_fail("%d of %d tasks ended: a lost wakeup", dropped, tasks);
    for (int v = 0; v < VALUES; v++) {
        MCX_CHECK(!(refused[v] && received[v]));
        MCX_CHECK(!all || !sent[v] || received[v]);
    }
    volt_channel_free(ch);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_counted(void)
{
    MCX_CHECK(count == expected);
    finish(true);
}

static void finish_ended(void)
{
    MCX_CHECK(ended == 1);
    finish(true);
}

static void finish_any(void)
{
    finish(false);
}

#define EXECUTORS                                                                        \
    {"executor", executor_run},                                                          \
    {                                                                                    \
        "executor 2", executor_run                                                       \
    }

static const struct mcx_scenario scenarios[] = {
    {
        .name = "two-senders",
        .promise = "four values of two senders through room for two: all arrive",
        .setup = setup_two,
        .finish = finish_counted,
        .threads = {EXECUTORS},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "spurious-poll",
        .promise = "the receiver is polled for nothing meanwhile: no value is missed",
        .setup = setup_one,
        .finish = finish_counted,
        .threads = {EXECUTORS, {"waker", spurious}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "try",
        .promise =
            "a thread tries to send, and closes: what was taken arrives, the end does",
        .setup = setup_try,
        .finish = finish_ended,
        .threads = {{"executor", executor_run}, {"thread", try_sender}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "thread",
        .promise = "a thread that waits for values gets all of them, and the end",
        .setup = setup_thread,
        .finish = finish_ended,
        .threads = {{"thread", receiving_thread}, {"sender", try_sender}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "sending-thread",
        .promise = "a thread waits to send beside a task, and closes: all of its arrive",
        .setup = setup_sending_thread,
        .finish = finish_ended,
        .threads = {{"executor", executor_run}, {"thread", sending_thread_closes}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "sending-thread-close",
        .promise = "closing against a thread that sends: each value is answered",
        .setup = setup_try,
        .finish = finish_ended,
        .threads = {{"executor", executor_run},
                    {"thread", sending_thread},
                    {"closer", closer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "cancel-close",
        .promise = "a sender is cancelled, the channel closed: no other loses a value",
        .setup = setup_cancel,
        .finish = finish_ended,
        .threads = {EXECUTORS, {"canceller", canceller}, {"closer", closer}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "close",
        .promise = "closing against sending: each value is answered, and the answer true",
        .setup = setup_close,
        .finish = finish_ended,
        .threads = {EXECUTORS, {"closer", closer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "receiver-cancel",
        .promise = "the receiver is cancelled: nobody touches it afterwards",
        .setup = setup_recv_cancel,
        .finish = finish_any,
        .threads = {EXECUTORS, {"canceller", canceller}},
        .preempt = 2,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "channel",
    .about = "values from senders to a receiver: both sides wait, and may go",
    .scenarios = scenarios,
};

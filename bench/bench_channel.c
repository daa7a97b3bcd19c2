/* Values from senders to one receiver, through room for 1024. Nanoseconds of wall time per
 * value.
 *
 *   mpsc_1, mpsc_4       a million values of one sender, of four */
#include "bench/tasks.h"

enum { MESSAGES = 1000000, ROOM = 1024 };

static struct volt_channel *channel;

/* A value from one processor to the other; more senders also share the tail. */
static double limit_one(void)
{
    return floor_message();
}

static double limit_many(void)
{
    return floor_message() + floor_shared_add();
}

struct sender {
    int at;
    uint64_t n, times;
    struct volt_send send;
};

static enum volt_poll sender_poll(struct volt_cx *cx, void *state)
{
    struct sender *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_send_init(&s->send, channel, &s->n);
        VOLT_AWAIT(s->at, volt_send_poll(cx, &s->send));
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(sender, sizeof(struct sender));

struct receiver {
    uint64_t n, value;
    int status;
};

static enum volt_poll receiver_poll(struct volt_cx *cx, void *state)
{
    struct receiver *r = state;

    for (; r->n < MESSAGES; r->n++)
        if (volt_channel_recv_poll(cx, channel, &r->value, &r->status) == VOLT_PENDING)
            return VOLT_PENDING;
    bench_task_done();
    return VOLT_READY;
}
BENCH_TYPE(receiver, sizeof(struct receiver));

static void mpsc(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    uint64_t start;

    channel = volt_channel_new(sizeof(uint64_t), ROOM);
    if (!channel)
        bench_die("no memory");
    bench_tasks_expect((uint32_t)w->arg + 1);
    start = bench_now();
    for (int i = 0; i < w->arg; i++) {
        struct sender *s = bench_task(rt, &sender_type);

        s->times = MESSAGES / (uint64_t)w->arg;
        bench_spawn(s);
    }
    bench_spawn(bench_task(rt, &receiver_type));
    bench_gate_wait();
    *ret = bench_per_op(start, MESSAGES);
    volt_channel_free(channel);
}

static const struct bench_workload workloads[] = {
    {"mpsc_1", BENCH_TIME(limit_one), mpsc, 1, false},
    {"mpsc_4", BENCH_TIME(limit_many), mpsc, 4, false},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}

/* Values through channels. Nanoseconds of wall time per value, or per round.
 *
 *   mpsc_1, mpsc_4       a million values of one sender, of four, to one receiver; room for
 *                        1024
 *   one_pair_channel     two tasks send each other one value in turns; per round */
#include "bench/tasks.h"

enum { MESSAGES = 1000000, ROOM = 1024, ROUNDS = 100000 };

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

/* Two tasks that wake each other in turns. */
static double limit_round(void)
{
    return 2 * (5 * floor_rmw() + floor_call());
}

struct sender {
    int at;
    uint64_t n, times;
    struct volt_channel_send send;
};

static enum volt_poll sender_poll(struct volt_cx *cx, void *state)
{
    struct sender *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < s->times; s->n++) {
        volt_channel_send_init(&s->send, channel, &s->n);
        VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->send));
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(sender, sizeof(struct sender));

struct receiver {
    uint64_t n, value;
    struct volt_channel_recv recv;
};

static enum volt_poll receiver_poll(struct volt_cx *cx, void *state)
{
    struct receiver *r = state;

    if (!r->recv.channel)
        volt_channel_recv_init(&r->recv, channel, &r->value);
    for (; r->n < MESSAGES; r->n++)
        if (volt_channel_recv_poll(cx, &r->recv) == VOLT_PENDING)
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

/* --- one to one and back */

struct player {
    int at, n, serves;
    struct volt_channel *mine, *other;
    struct volt_channel_send send;
    struct volt_channel_recv recv;
    uint64_t ball;
};

static enum volt_poll player_poll(struct volt_cx *cx, void *state)
{
    struct player *s = state;

    VOLT_BEGIN(s->at);
    for (; s->n < ROUNDS; s->n++) {
        if (s->serves) {
            volt_channel_send_init(&s->send, s->other, &s->ball);
            VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->send));
        }
        volt_channel_recv_init(&s->recv, s->mine, &s->ball);
        VOLT_AWAIT(s->at, volt_channel_recv_poll(cx, &s->recv));
        if (!s->serves) {
            volt_channel_send_init(&s->send, s->other, &s->ball);
            VOLT_AWAIT(s->at, volt_channel_send_poll(cx, &s->send));
        }
    }
    bench_task_done();
    VOLT_END(s->at);
}
BENCH_TYPE(player, sizeof(struct player));

static void one_pair_channel(const struct bench_workload *w, double *ret)
{
    struct volt_runtime *rt = bench_runtime(bench_workers());
    struct volt_channel *ch[2];
    uint64_t start;

    (void)w;
    for (int i = 0; i < 2; i++) {
        ch[i] = volt_channel_new(sizeof(uint64_t), 1);
        if (!ch[i])
            bench_die("no memory");
    }
    bench_tasks_expect(2);
    start = bench_now();
    for (int i = 0; i < 2; i++) {
        struct player *s = bench_task(rt, &player_type);

        s->serves = i;
        s->mine = ch[i];
        s->other = ch[!i];
        bench_spawn(s);
    }
    bench_gate_wait();
    *ret = bench_per_op(start, ROUNDS);
    volt_channel_free(ch[0]);
    volt_channel_free(ch[1]);
}

static const struct bench_workload workloads[] = {
    {"mpsc_1", BENCH_TIME(limit_one), mpsc, 1, false},
    {"mpsc_4", BENCH_TIME(limit_many), mpsc, 4, false},
    {"one_pair_channel", BENCH_TIME(limit_round), one_pair_channel, 0, false},
};

int main(int argc, char **argv)
{
    int r = bench_main(argc, argv, "volt", workloads,
                       sizeof(workloads) / sizeof(workloads[0]));

    bench_runtime_end();
    return r;
}

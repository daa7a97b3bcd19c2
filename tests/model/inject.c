/* Model of lib/sched/inject.c: the two-stage queue and its gate.
 *
 * Oracle: every task is taken exactly once, with what its producer wrote, in the order of
 * its producer; what is left is visible; a queue whose last task was run may be freed
 * once its gate is empty, and is not touched afterwards. */
#include <string.h>
#include "mcx.h"
#include "sched/inject.h"

#define TASKS 4

struct item {
    struct volt_task task;
    int payload; /* annotated */
    int id;
};

static struct inject *queue;
static struct item *items[TASKS];
static int taken[TASKS], order[TASKS], ntaken, expected;
static vat_u32 seen; /* the consumer has run the task: as its completion would say */

static void setup(int n)
{
    queue = mcx_malloc(sizeof(*queue));
    inject_init(queue);
    mcx_name(&queue->in, sizeof(queue->in), "in");
    mcx_name(&queue->lock, sizeof(queue->lock), "lock");
    mcx_name(&queue->out_len, sizeof(queue->out_len), "out_len");
    mcx_name(&queue->gate, sizeof(queue->gate), "gate");
    for (int i = 0; i < TASKS; i++) {
        items[i] = mcx_malloc(sizeof(*items[i]));
        items[i]->id = i;
    }
    memset(taken, 0, sizeof(taken));
    ntaken = 0;
    expected = n;
    vat_u32_init(&seen, 0);
}

static void setup_four(void)
{
    setup(4);
}

static void setup_two(void)
{
    setup(2);
}

static void setup_one(void)
{
    setup(1);
}

static void produce(int first, int last)
{
    struct task_chain chain = {0};

    for (int i = first; i <= last; i++) {
        VAT_WR(&items[i]->payload);
        items[i]->payload = i + 1;
        task_chain_push(&chain, &items[i]->task);
    }
    inject_push(queue, &chain);
    MCX_CHECK(!chain.head);
}

static void producer_chain(void)
{
    produce(0, 1);
}

static void producer_by_one(void)
{
    produce(2, 2);
    produce(3, 3);
}

static void producer_0(void)
{
    produce(0, 0);
}

static void producer_1(void)
{
    produce(1, 1);
}

static int consume(enum inject_share share)
{
    struct volt_task *got[2];
    bool more;
    uint32_t n = inject_take(queue, share, 2, 2, got, &more);

    MCX_CHECK(n <= 2);
    for (uint32_t i = 0; i < n; i++) {
        struct item *it = (struct item *)(void *)got[i];

        VAT_RD(&it->payload);
        MCX_CHECK(it->payload == it->id + 1);
        if (taken[it->id]++)
            mcx_fail("task %d taken twice", it->id);
        order[ntaken++] = it->id;
        mcx_note("takes task %d", it->id);
    }
    return (int)n;
}

static void consumer(void)
{
    (void)consume(INJECT_IDLE);
    (void)consume(INJECT_PERIODIC);
}

/* Sees both producers' tasks, or nothing is there: invisible only to whoever holds it. */
static void looker(void)
{
    if (vat_u32_load(&seen, VAT_ACQ))
        MCX_CHECK(inject_visible(queue) || ntaken > 0);
}

static void producer_then_seen(void)
{
    produce(0, 0);
    vat_u32_store(&seen, 1, VAT_REL);
}

static int position(int id)
{
    for (int i = 0; i < ntaken; i++)
        if (order[i] == id)
            return i;
    mcx_fail("task %d was never taken", id);
}

static void finish(void)
{
    while (inject_visible(queue))
        MCX_CHECK(consume(INJECT_IDLE) > 0);
    MCX_CHECK(ntaken == expected);
    for (int i = 0; i < expected; i++)
        MCX_CHECK(taken[i] == 1);
    if (expected == 4)
        MCX_CHECK(position(0) < position(1) && position(2) < position(3));
}

/* --- the gate ----------------------------------------------------------------------- */

static void submitter(void)
{
    inject_enter(queue);
    produce(0, 0);
    (void)inject_visible(queue); /* as the notify does: after the token is gone */
    inject_leave(queue);
}

static bool is_visible(void *arg)
{
    (void)arg;
    return queue->in.v != NULL || queue->out_len.v != 0;
}

static void freer(void)
{
    mcx_block_until_any(is_visible, NULL);
    while (consume(INJECT_IDLE) == 0)
        mcx_yield();
    inject_drain_users(queue);
    mcx_free(queue);
}

static void finish_freed(void)
{
    MCX_CHECK(taken[0] == 1);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "two-producers",
        .promise =
            "a chain and two single pushes against a consumer: once each, in order",
        .setup = setup_four,
        .finish = finish,
        .threads = {{"chain", producer_chain},
                    {"by one", producer_by_one},
                    {"consumer", consumer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "two-consumers",
        .promise = "the second consumer is turned away or takes what is left",
        .setup = setup_two,
        .finish = finish,
        .threads = {{"producer", producer_0},
                    {"producer 2", producer_1},
                    {"consumer", consumer},
                    {"consumer 2", consumer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "visible",
        .promise = "whoever hears of a push finds it visible, unless it is taken already",
        .setup = setup_one,
        .finish = finish,
        .threads = {{"producer", producer_then_seen}, {"looker", looker}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "gate",
        .promise = "the queue may be freed once its gate is empty (F-L3)",
        .setup = setup_one,
        .finish = finish_freed,
        .threads = {{"submitter", submitter}, {"freer", freer}},
        .preempt = 3,
        .stale = 2,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "inject",
    .about = "the global queue: order, exactly once, and its end",
    .scenarios = scenarios,
};

/* Model of lib/sched/ring.c, with a capacity of 4: one owner, up to two thieves.
 *
 * Oracle: every task is taken exactly once, with what its creator wrote visible; nobody
 * reads or writes a slot that is somebody else's (slots are annotated, so that is a
 * race); no ring is left in the state of theft. */
#include <string.h>
#include "mcx.h"
#include "sched/ring.h"

#define TASKS 12

struct item {
    struct volt_task task;
    int payload; /* annotated: written before the push, read after the take */
    int id;
};

static struct ring *own, *loot, *second_loot, *other;
static struct item *items[TASKS + 1]; /* from 1 */
static int taken[TASKS + 1];
static struct volt_task *overflowed[TASKS];
static int noverflowed;
static int preloaded, pushes;
static int last; /* task of `own` */

static struct volt_task *make(int id)
{
    struct item *it = items[id];

    VAT_WR(&it->payload);
    it->payload = id * 7;
    return &it->task;
}

static void take(struct volt_task *t)
{
    struct item *it = (struct item *)(void *)t;

    if (!t)
        mcx_fail("an empty slot was taken");
    VAT_RD(&it->payload);
    MCX_CHECK(it->payload == it->id * 7);
    if (taken[it->id]++)
        mcx_fail("task %d taken twice", it->id);
    mcx_note("takes task %d", it->id);
}

static void push(struct ring *r, int id)
{
    struct task_chain excess = {0};

    if (!ring_push(r, make(id), &excess))
        while (excess.head)
            overflowed[noverflowed++] = task_chain_pop(&excess);
}

static void drain(struct ring *r)
{
    for (struct volt_task *t; (t = ring_pop(r));)
        take(t);
}

static void steal(struct ring *from, struct ring *to)
{
    struct volt_task *t;
    uint32_t n;

    if (ring_steal(from, to, &t, &n) == RING_STOLEN)
        take(t);
    drain(to);
}

static struct ring *ring_make(const char *name)
{
    struct ring *r = mcx_malloc(sizeof(*r));

    ring_init(r);
    mcx_name(r, sizeof(*r), name);
    mcx_name(&r->tail, sizeof(r->tail), name[0] == 'o' ? "own.tail" : "tail");
    return r;
}

static void start(int preload, int more)
{
    own = ring_make("own");
    loot = ring_make("loot");
    second_loot = ring_make("second loot");
    other = ring_make("other");
    memset(taken, 0, sizeof(taken));
    noverflowed = 0;
    preloaded = preload;
    pushes = more;
    last = preload + more;
    for (int i = 1; i <= TASKS; i++) {
        items[i] = mcx_malloc(sizeof(struct item));
        items[i]->id = i;
    }
    for (int i = 1; i <= preload; i++)
        push(own, i);
    for (int i = 9; i <= 12; i++)
        push(other, i);
}

static void start_full(void)
{
    start(4, 0);
}

static void start_overflow(void)
{
    start(4, 2);
}

static void start_newer(void)
{
    start(4, 1);
}

static void start_three(void)
{
    start(3, 1);
}

static void start_wrap(void)
{
    start(4, 4);
}

static void start_empty(void)
{
    start(0, 0);
    last = 2;
}

/* Each task is published by the owner while thieves look, none before. */
static void start_unpublished(void)
{
    start(0, 6);
}

static void start_chain(void)
{
    start(2, 0);
    last = 6;
}

/* Pops and pushes by turns, empties its ring, then is a thief itself: into slots of its
 * own ring that its own thief may still be reading. */
static void owner_mixed(void)
{
    for (int id = preloaded + 1; id <= preloaded + pushes; id++) {
        struct volt_task *t = ring_pop(own);

        if (t)
            take(t);
        push(own, id);
    }
    drain(own);
    steal(other, own);
}

static void owner_pushes(void)
{
    for (int id = preloaded + 1; id <= preloaded + pushes; id++)
        push(own, id);
    drain(own);
}

static void owner_chain(void)
{
    struct task_chain chain = {0};

    for (int id = 3; id <= 6; id++)
        task_chain_push(&chain, make(id));
    (void)ring_push_chain(own, &chain);
    while (chain.head)
        overflowed[noverflowed++] = task_chain_pop(&chain);
    drain(own);
}

static void owner_many(void)
{
    struct volt_task *tasks[4];
    uint32_t room = ring_room(own);

    for (int i = 0; i < 4; i++)
        tasks[i] = make(3 + i);
    if (room > 4)
        room = 4;
    ring_push_many(own, tasks, room);
    while (room < 4)
        overflowed[noverflowed++] = tasks[room++];
    drain(own);
}

/* Takes the newest one, so that the others are written to slots that a thief has read;
 * pushes again, and pops. */
static void owner_takes_newer(void)
{
    struct task_chain newer = {0};

    (void)ring_take_newer(own, 3, &newer);
    while (newer.head)
        overflowed[noverflowed++] = task_chain_pop(&newer);
    push(own, last);
    drain(own);
}

static void thief_twice(void)
{
    steal(own, loot);
    steal(own, loot);
}

static void thief_once(void)
{
    steal(own, second_loot);
}

/* Two pushed, two popped: whatever the observer reads, there were never more. */
static void owner_pops(void)
{
    push(own, 1);
    push(own, 2);
    drain(own);
}

/* The same; and all are taken out at once, if the thief has begun none. */
static void owner_takes_all(void)
{
    struct task_chain newer = {0};

    push(own, 1);
    push(own, 2);
    (void)ring_take_newer(own, ring_first(own), &newer);
    while (newer.head)
        overflowed[noverflowed++] = task_chain_pop(&newer);
    drain(own);
}

static void counter(void)
{
    for (int i = 0; i < 2; i++)
        MCX_CHECK(ring_len(own) <= 2);
}

static void observer(void)
{
    MCX_CHECK(ring_len(own) <= RING_CAPACITY);
    MCX_CHECK(ring_len(other) <= RING_CAPACITY);
}

static void finish(void)
{
    struct ring *rings[] = {own, loot, second_loot, other};

    for (int i = 0; i < 4; i++) {
        uint64_t head = vat_u64_load(&rings[i]->head, VAT_SC);

        if ((uint32_t)(head >> 32) != (uint32_t)head)
            mcx_fail("ring %d is left in the state of theft", i);
        drain(rings[i]);
    }
    for (int i = 0; i < noverflowed; i++)
        take(overflowed[i]);
    for (int i = 1; i <= TASKS; i++)
        if ((i <= last || i >= 9) && taken[i] != 1)
            mcx_fail("task %d was taken %d times", i, taken[i]);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "re-steal",
        .promise = "a ring emptied by pops and a thief fills by theft again (F-C1)",
        .setup = start_full,
        .finish = finish,
        .threads = {{"owner", owner_mixed}, {"thief", thief_twice}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "overflow",
        .promise = "full: the newer half leaves, or the one task while a thief copies",
        .setup = start_overflow,
        .finish = finish,
        .threads = {{"owner", owner_pushes}, {"thief", thief_twice}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "overflow-own",
        .promise = "what the older half holds is published again, whoever looks first",
        .setup = start_unpublished,
        .finish = finish,
        .threads = {{"owner", owner_pushes}, {"thief", thief_twice}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "newer",
        .promise = "what is older stays, published anew, whatever thieves do",
        .setup = start_newer,
        .finish = finish,
        .threads = {{"owner", owner_takes_newer}, {"thief", thief_twice}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "two-thieves",
        .promise = "a second thief never enters, the first always ends its theft",
        .setup = start_three,
        .finish = finish,
        .threads = {{"owner", owner_mixed},
                    {"thief", thief_twice},
                    {"thief 2", thief_once}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "wrap",
        .promise = "the same while the owner overflows into reused slots",
        .setup = start_wrap,
        .finish = finish,
        .threads = {{"owner", owner_pushes},
                    {"thief", thief_twice},
                    {"thief 2", thief_once}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "chain",
        .promise = "a chain is published with one store; what does not fit stays in it",
        .setup = start_chain,
        .finish = finish,
        .threads = {{"owner", owner_chain},
                    {"thief", thief_twice},
                    {"observer", observer}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "many",
        .promise = "nothing is pushed where a thief still reads",
        .setup = start_chain,
        .finish = finish,
        .threads = {{"owner", owner_many},
                    {"thief", thief_twice},
                    {"observer", observer}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "length",
        .promise = "the length that others read never exceeds what was there",
        .setup = start_empty,
        .finish = finish,
        .threads = {{"owner", owner_pops}, {"observer", counter}, {"thief", thief_once}},
        .preempt = 2,
        .stale = 2,
    },
    {
        .name = "length-newer",
        .promise = "nor does it when the newer tasks are taken",
        .setup = start_empty,
        .finish = finish,
        .threads = {{"owner", owner_takes_all},
                    {"observer", counter},
                    {"thief", thief_once}},
        .preempt = 2,
        .stale = 2,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "ring",
    .about = "the run queue: push, pop, steal of half, overflow",
    .scenarios = scenarios,
};

/* Model of lib/task/slab.c: slots that other threads free, and the end of a heap.
 *
 * Oracle: no slot is in two hands at once; who gets a slot sees everything that its last
 * owner did; a slab is freed only when nobody has a slot of it; the heap goes with its
 * last slot, not before and not never. */
#include "task/slab.h"
#include "mcx.h"

#define SLOTS 4 /* of one slab: SLAB_FIRST / 64 */

static struct heap *heap;
static struct volt_task *slot[SLOTS], *kept, *lent;

/* Annotated: what a task's user writes. */
static int *payload(struct volt_task *t)
{
    return task_state(t);
}

static struct volt_task *take(void)
{
    struct volt_task *t = slab_alloc(heap, sizeof(*t) + sizeof(int));

    VAT_WR(payload(t));
    MCX_CHECK(*payload(t) == 0);
    *payload(t) = 1;
    return t;
}

static void give(struct volt_task *t)
{
    VAT_WR(payload(t));
    MCX_CHECK(*payload(t) == 1);
    *payload(t) = 0;
    slab_free(t);
}

static void setup(void)
{
    heap = heap_new(2);
    mcx_name(heap->store[0].remote, sizeof(heap->store[0].remote), "remote 0");
    mcx_name(&heap->in_use, sizeof(heap->in_use), "in_use");
    slab_bind(heap, 0);
    for (int i = 0; i < SLOTS; i++)
        slot[i] = take();
    slab_unbind();
    mcx_name(slot[0], sizeof(*slot[0]), "slot 0");
    mcx_name(slot[1], sizeof(*slot[1]), "slot 1");
}

/* Takes new ones, from what others give back if they do. */
static void owner(void)
{
    slab_bind(heap, 0);
    for (int i = 0; i < 2; i++)
        give(take());
    kept = take();
    slab_unbind();
}

static void takes_one(void)
{
    slab_bind(heap, 0);
    kept = take();
    slab_unbind();
}

/* Has no slab, and is dry: takes what was given back to store 0, if anything was. */
static void worker_takes(void)
{
    slab_bind(heap, 1);
    struct volt_task *t = take();
    lent = take();
    give(t);
    slab_unbind();
}

static void frees_two(void)
{
    give(slot[0]);
    give(slot[1]);
}

static void frees_0(void)
{
    give(slot[0]);
}

static void frees_1(void)
{
    give(slot[1]);
}

static void frees_all(void)
{
    for (int i = 0; i < SLOTS; i++)
        give(slot[i]);
}

/* A worker: they go in one batch. */
static void worker_frees(void)
{
    slab_bind(heap, 1);
    give(slot[2]);
    give(slot[3]);
    slab_unbind();
}

static void finish_owner(void)
{
    give(kept);
    heap_release(heap);
    MCX_CHECK(mcx_live_objects() == 0);
}

static void finish_borrow(void)
{
    give(slot[2]);
    give(slot[3]);
    give(lent);
    finish_owner();
}

static void setup_release(void)
{
    setup();
    give(slot[2]);
    give(slot[3]);
}

/* Two of four are free; the owner makes no more of that slab. */
static void setup_trim_newest(void)
{
    setup();
    give(slot[2]);
    give(slot[3]);
}

/* Likewise, and it has gone on to another one. */
static void setup_trim(void)
{
    setup();
    slab_bind(heap, 0);
    struct volt_task *fifth = take();
    slab_unbind();
    give(fifth);
    give(slot[2]);
    give(slot[3]);
}

static void trims(void)
{
    slab_bind(heap, 1);
    while (slab_trim(heap))
        ;
    slab_unbind();
}

static void releases(void)
{
    heap_release(heap);
}

static void finish_release(void)
{
    MCX_CHECK(mcx_live_objects() == 0);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "remote",
        .promise = "slots that others free come back whole, each to one taker",
        .setup = setup,
        .finish = finish_owner,
        .threads = {{"owner", owner},
                    {"freer", frees_0},
                    {"freer 2", frees_1},
                    {"worker 1", worker_frees}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "borrow",
        .promise = "a dry store takes what was given back to another, each slot once",
        .setup = setup,
        .finish = finish_borrow,
        .threads = {{"owner", takes_one},
                    {"worker 1", worker_takes},
                    {"freer", frees_two}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "trim",
        .promise = "a slab is freed while others free its last slots, and one allocates",
        .setup = setup_trim,
        .finish = finish_owner,
        .threads = {{"owner", takes_one},
                    {"worker 1", trims},
                    {"freer", frees_0},
                    {"freer 2", frees_1}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "trim-newest",
        .promise = "a slab whose store still makes slots of it is left alone",
        .setup = setup_trim_newest,
        .finish = finish_owner,
        .threads = {{"owner", takes_one},
                    {"worker 1", trims},
                    {"freer", frees_0},
                    {"freer 2", frees_1}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "trim-left",
        .promise = "a slab is freed when its store has gone on to another, not before",
        .setup = setup,
        .finish = finish_owner,
        .threads = {{"owner", takes_one}, {"worker 1", trims}, {"freer", frees_all}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "release",
        .promise = "the heap goes with the last slot, whoever frees it",
        .setup = setup_release,
        .finish = finish_release,
        .threads = {{"release", releases}, {"freer", frees_0}, {"freer 2", frees_1}},
        .preempt = 3,
        .stale = 2,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "slab",
    .about = "memory of tasks: remote free, and the end of a heap",
    .scenarios = scenarios,
};

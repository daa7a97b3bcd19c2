/* Model of lib/base/fair_lock.h and fair_lock.c over the explorer's futex; the guard is
 * taken in one step.
 *
 * Oracle: one holder at a time, that sees what the last one wrote (the guarded field is
 * annotated); nobody sleeps on a free lock; and while one is the first in line the lock
 * is taken once before it looks, and FAIR_PASSES times before it is there, at most. */
#define FAIR_LOOKS   1
#define FAIR_BACKOFF 1
#include "base/fair_lock.c"
#include "mcx.h"

static struct {
    struct fair_lock lock;
    int guarded; /* annotated */
} * shared;
static int entered;
static const struct list_node *first; /* in line when the lock was taken the last time */
static int before_it; /* how often it has been taken since that one is the first */

static void setup(void)
{
    shared = mcx_malloc(sizeof(*shared));
    mcx_name(&shared->lock, sizeof(shared->lock), "lock");
    mcx_name(&shared->guarded, sizeof(shared->guarded), "guarded");
    entered = before_it = 0;
    first = NULL;
}

/* The line is looked at between two steps, when it is whole. */
static void note_passed(void)
{
    if (shared->lock.line.first != first)
        before_it = 0;
    first = shared->lock.line.first;
    before_it += first != NULL;
    MCX_CHECK(before_it <= FAIR_PASSES + 1);
}

static void section(void)
{
    fair_lock(&shared->lock);
    note_passed();
    VAT_RD(&shared->guarded);
    int before = shared->guarded;
    VAT_WR(&shared->guarded);
    shared->guarded = before + 1;
    entered++;
    fair_unlock(&shared->lock);
}

static void twice(void)
{
    section();
    section();
}

static void in_portions(void)
{
    for (int i = 0; i < FAIR_PASSES + 3; i++)
        section();
}

static void finish(void)
{
    MCX_CHECK(shared->guarded == entered);
    MCX_CHECK(vat_u32_load(&shared->lock.word, VAT_RLX) == 0);
    MCX_CHECK(list_is_empty(&shared->lock.line) && !shared->lock.passed);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "two",
        .promise = "two threads by turns: never both inside, neither is left asleep",
        .setup = setup,
        .finish = finish,
        .threads = {{"a", twice}, {"b", twice}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "portions",
        .promise = "one that takes it again and again passes one that waits once",
        .setup = setup,
        .finish = finish,
        .threads = {{"again", in_portions}, {"waits", section}},
        .preempt = 3,
        .stale = 1,
    },
    {
        .name = "three",
        .promise = "two in line: each unlock that owes a wake gives it, to the first",
        .setup = setup,
        .finish = finish,
        .threads = {{"a", twice}, {"b", twice}, {"c", section}},
        .preempt = 3,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "fair_lock",
    .about = "the lock that nobody waits for while others take it again and again",
    .scenarios = scenarios,
};

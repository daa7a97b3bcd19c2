/* Model of lib/base/lock.h and lock.c in full, over the explorer's futex; everywhere else
 * the models take the lock as one step.
 *
 * Oracle: one holder at a time, who sees what the last one wrote (the guarded field is
 * annotated); nobody sleeps on a free lock, whoever unlocks and however many wait. */
#define VLOCK_IN_FULL
#define VLOCK_LOOKS   1
#define VLOCK_BACKOFF 1
#include "base/lock.c"
#include "mcx.h"

static struct {
    vlock lock;
    int guarded; /* annotated */
} * shared;
static int entered;

static void setup(void)
{
    shared = mcx_malloc(sizeof(*shared));
    mcx_name(&shared->lock, sizeof(shared->lock), "lock");
    mcx_name(&shared->guarded, sizeof(shared->guarded), "guarded");
    entered = 0;
}

static void inside(void)
{
    VAT_RD(&shared->guarded);
    int before = shared->guarded;

    VAT_WR(&shared->guarded);
    shared->guarded = before + 1;
    entered++;
}

static void locker(void)
{
    vlock_lock(&shared->lock);
    inside();
    vlock_unlock(&shared->lock);
}

static void locker_twice(void)
{
    locker();
    locker();
}

static void trier(void)
{
    if (!vlock_try_lock(&shared->lock))
        return;
    inside();
    vlock_unlock(&shared->lock);
}

static void finish(void)
{
    MCX_CHECK(shared->guarded == entered);
    MCX_CHECK(vat_u32_load(&shared->lock.word, VAT_RLX) == 0);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "two",
        .promise = "two threads by turns: never both inside, neither is left asleep",
        .setup = setup,
        .finish = finish,
        .threads = {{"a", locker_twice}, {"b", locker_twice}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "three",
        .promise = "two sleepers: each unlock that owes a wake gives it",
        .setup = setup,
        .finish = finish,
        .threads = {{"a", locker}, {"b", locker}, {"c", locker}},
        .preempt = 3,
        .stale = 1,
    },
    {
        .name = "try",
        .promise = "a thread that only tries never waits and never enters beside another",
        .setup = setup,
        .finish = finish,
        .threads = {{"a", locker}, {"b", locker}, {"trier", trier}},
        .preempt = 3,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "lock",
    .about = "the lock over the futex",
    .scenarios = scenarios,
};

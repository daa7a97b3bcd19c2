/* Model of lib/sched/idle.c and park.c by themselves: workers reduced to a counter of
 * items, so that the search goes deeper than through whole workers (model sched).
 *
 * Oracle: no item is left while a worker sleeps, without any timeout (INV-1); at rest
 * nobody is counted as a searcher (INV-4) and each sleeper has its bit (INV-5); an unpark
 * is never lost and shows what its sender wrote (P-9). */
#include "mcx.h"
#include "sched/idle.h"
#include "sched/park.h"

#define WORKERS 2

static struct {
    struct idle idle;
    struct park park[WORKERS];
    vat_u32 items; /* the one queue */
} * sched;
static int workers, ran, expected, together, inside;

static void start(int n, int items)
{
    sched = mcx_malloc(sizeof(*sched));
    idle_init(&sched->idle, (uint32_t)n);
    mcx_name(&sched->idle.word, sizeof(sched->idle.word), "idle");
    mcx_name(&sched->items, sizeof(sched->items), "items");
    for (int i = 0; i < n; i++) {
        park_init(&sched->park[i]);
        mcx_name(&sched->park[i], sizeof(sched->park[i]), i ? "park 1" : "park 0");
    }
    workers = n;
    expected = items;
    ran = together = inside = 0;
}

static void unpark(int i)
{
    if (park_unpark(&sched->park[i]))
        mcx_fail("nobody sleeps in an event loop here");
}

static void notify(void)
{
    int i = idle_claim(&sched->idle);

    if (i >= 0)
        unpark(i);
}

static bool visible(void)
{
    return vat_u32_load(&sched->items, VAT_ACQ) != 0;
}

static bool take(void)
{
    uint32_t n = vat_u32_load(&sched->items, VAT_ACQ);

    while (n)
        if (vat_u32_cas(&sched->items, &n, n - 1, VAT_AR, VAT_ACQ))
            return true;
    return false;
}

static bool all_inside(void *arg)
{
    (void)arg;
    return inside >= together;
}

static void run(void)
{
    inside++;
    mcx_block_until(all_inside, NULL);
    ran++;
}

static void worker(void)
{
    int i = mcx_self();
    bool searching = false;

    mcx_daemon();
    for (;;) {
        bool got = take();

        if (!got) {
            if (!searching)
                searching = idle_search_begin(&sched->idle);
            got = take();
        }
        if (got) {
            if (searching && idle_search_end(&sched->idle) && visible())
                notify();
            searching = false;
            run();
            continue;
        }
        if (idle_park(&sched->idle, (uint32_t)i, searching) && visible()) {
            searching =
                idle_unpark(&sched->idle, (uint32_t)i) || idle_search_begin(&sched->idle);
            continue;
        }
        if (park_begin(&sched->park[i], PARK_FUTEX))
            (void)park_sleep(&sched->park[i], UINT64_MAX);
        park_end(&sched->park[i]);
        searching = idle_unpark(&sched->idle, (uint32_t)i);
    }
}

static void producer(void)
{
    (void)vat_u32_add(&sched->items, 1, VAT_REL);
    notify();
}

static void producer_of_two(void)
{
    producer();
    producer();
}

/* Wakes without a claim, as an event, a hand-over of the loop or a shutdown does. */
static void nudger(void)
{
    unpark(0);
}

static void setup_one(void)
{
    start(1, 1);
}

static void setup_one_two(void)
{
    start(1, 2);
}

static void setup_two(void)
{
    start(2, 2);
}

static void setup_pair(void)
{
    start(2, 2);
    together = 2;
}

static void finish(void)
{
    if (ran != expected)
        mcx_fail("%d of %d items ran", ran, expected);
    MCX_CHECK(idle_searchers(&sched->idle) == 0);
    MCX_CHECK(idle_parked(&sched->idle) == (uint32_t)workers);
    MCX_CHECK(idle_first_parked(&sched->idle) == 0);
}

/* --- the park word alone ------------------------------------------------------------ */

static vat_u32 flag[2]; /* relaxed: only the token orders them */

static void setup_park(void)
{
    start(1, 0);
    vat_u32_init(&flag[0], 0);
    vat_u32_init(&flag[1], 0);
}

static void sleeper(void)
{
    while (!vat_u32_load(&flag[0], VAT_RLX) || !vat_u32_load(&flag[1], VAT_RLX)) {
        if (park_begin(&sched->park[0], PARK_FUTEX))
            (void)park_sleep(&sched->park[0], UINT64_MAX);
        park_end(&sched->park[0]);
    }
}

static void waker_0(void)
{
    vat_u32_store(&flag[0], 1, VAT_RLX);
    unpark(0);
}

static void waker_1(void)
{
    vat_u32_store(&flag[1], 1, VAT_RLX);
    unpark(0);
}

static const struct mcx_scenario scenarios[] = {
    {
        .name = "park",
        .promise = "two unparks at any time: neither is lost, both show their writes",
        .setup = setup_park,
        .threads = {{"sleeper", sleeper}, {"waker", waker_0}, {"waker 2", waker_1}},
        .preempt = 3,
        .stale = 2,
    },
    {
        .name = "one",
        .promise = "one worker, one item, a stray wake",
        .setup = setup_one,
        .finish = finish,
        .threads = {{"worker 0", worker}, {"producer", producer}, {"nudger", nudger}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "one-two",
        .promise = "one worker, two producers",
        .setup = setup_one_two,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"producer", producer},
                    {"producer 2", producer}},
        .preempt = 2,
        .stale = 1,
    },
    {
        .name = "two",
        .promise = "two workers, two items, a stray wake against the claims (F-H2)",
        .setup = setup_two,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"producer", producer_of_two},
                    {"nudger", nudger}},
        .preempt = 1,
        .stale = 1,
    },
    {
        .name = "pair",
        .promise = "two items that wait for each other: both workers come up",
        .setup = setup_pair,
        .finish = finish,
        .threads = {{"worker 0", worker},
                    {"worker 1", worker},
                    {"producer", producer},
                    {"producer 2", producer}},
        .preempt = 1,
        .stale = 1,
    },
    {0},
};

const struct mcx_model mcx_model = {
    .name = "idle",
    .about = "the idle set and the park word",
    .scenarios = scenarios,
};

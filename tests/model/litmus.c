/* The explorer itself: classical litmus tests must show exactly the outcomes that C11
 * allows (without load buffering). Each scenario checks its own set of outcomes:
 * forbidden ones never, allowed ones at least once in the whole search. */
#include <string.h>
#include "base/atomic.h"
#include "mcx.h"

static vat_u32 x, y;
static uint32_t r[4];
static int data;
static enum mcx_order store_order, load_order;
static bool fences;

static void start(enum mcx_order store, enum mcx_order load, bool with_fences)
{
    vat_u32_init(&x, 0);
    vat_u32_init(&y, 0);
    memset(r, 0xff, sizeof(r));
    data = 0;
    store_order = store;
    load_order = load;
    fences = with_fences;
}

static void setup_rel_acq(void)
{
    start(VAT_REL, VAT_ACQ, false);
}

static void setup_sc(void)
{
    start(VAT_SC, VAT_SC, false);
}

static void setup_fence(void)
{
    start(VAT_RLX, VAT_RLX, true);
}

static void setup_rel_sc_load(void)
{
    start(VAT_REL, VAT_SC, false);
}

static void setup_rlx_acq(void)
{
    start(VAT_RLX, VAT_ACQ, false);
}

static void setup_rel_rlx(void)
{
    start(VAT_REL, VAT_RLX, false);
}

/* --- store buffering: may both loads miss the other's store? ------------------------ */

static void store_load(vat_u32 *mine, vat_u32 *other, uint32_t *result)
{
    vat_u32_store(mine, 1, store_order);
    if (fences)
        vat_u32_fence(other);
    *result = vat_u32_load(other, load_order);
}

static void sb_first(void)
{
    store_load(&x, &y, &r[0]);
}

static void sb_second(void)
{
    store_load(&y, &x, &r[1]);
}

static void sb_forbidden(void)
{
    if (r[0] == 0 && r[1] == 0)
        mcx_fail("both loads missed");
}

/* --- message passing: does the flag bring the data? --------------------------------- */

static void mp_writer(void)
{
    VAT_WR(&data);
    data = 42;
    vat_u32_store(&x, 1, store_order);
}

static void mp_reader(void)
{
    if (vat_u32_load(&x, load_order)) {
        VAT_RD(&data);
        MCX_CHECK(data == 42);
    }
}

/* --- IRIW: do two readers agree on the order of independent stores? ----------------- */

static void iriw_write_x(void)
{
    vat_u32_store(&x, 1, store_order);
}

static void iriw_write_y(void)
{
    vat_u32_store(&y, 1, store_order);
}

static void iriw_read_xy(void)
{
    r[0] = vat_u32_load(&x, load_order);
    if (fences)
        vat_u32_fence(&y);
    r[1] = vat_u32_load(&y, load_order);
}

static void iriw_read_yx(void)
{
    r[2] = vat_u32_load(&y, load_order);
    if (fences)
        vat_u32_fence(&x);
    r[3] = vat_u32_load(&x, load_order);
}

static void iriw_forbidden(void)
{
    if (r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0)
        mcx_fail("the readers disagree");
}

#define SB(start_)                                                                       \
    .setup = start_, .finish = sb_forbidden,                                             \
    .threads = {{"first", sb_first}, {"second", sb_second}}
#define MP(start_)                                                                       \
    .setup = start_, .threads = {{"writer", mp_writer}, {"reader", mp_reader}}
#define IRIW(start_)                                                                     \
    .setup = start_, .finish = iriw_forbidden,                                           \
    .threads = {{"write x", iriw_write_x},                                               \
                {"write y", iriw_write_y},                                               \
                {"read xy", iriw_read_xy},                                               \
                {"read yx", iriw_read_yx}}
#define EXHAUSTIVE .preempt = 99, .stale = 99, .dfs = 1000000

static const struct mcx_scenario scenarios[] = {
    {"sb-sc", "never both missed: sc store, sc load", SB(setup_sc), EXHAUSTIVE},
    {"sb-fence", "never both missed: relaxed with sc fences", SB(setup_fence),
     EXHAUSTIVE},
    {"sb-rel-acq", "both may be missed: release, acquire", SB(setup_rel_acq), EXHAUSTIVE,
     .must_fail = true},
    {"sb-rel-sc-load", "both may be missed: release store, sc load",
     SB(setup_rel_sc_load), EXHAUSTIVE, .must_fail = true},
    {"mp-rel-acq", "the flag brings the data: release, acquire", MP(setup_rel_acq),
     EXHAUSTIVE},
    {"mp-rlx-acq", "it may not: relaxed store", MP(setup_rlx_acq), EXHAUSTIVE,
     .must_fail = true},
    {"mp-rel-rlx", "it may not: relaxed load", MP(setup_rel_rlx), EXHAUSTIVE,
     .must_fail = true},
    {"iriw-sc", "readers agree: sc", IRIW(setup_sc), EXHAUSTIVE},
    {"iriw-fence", "readers agree: sc fences between the loads", IRIW(setup_fence),
     EXHAUSTIVE},
    {"iriw-rel-acq", "readers may disagree: release, acquire", IRIW(setup_rel_acq),
     EXHAUSTIVE, .must_fail = true},
    {0},
};

const struct mcx_model mcx_model = {
    .name = "litmus",
    .about = "the explorer shows exactly the outcomes that C11 allows",
    .scenarios = scenarios,
};

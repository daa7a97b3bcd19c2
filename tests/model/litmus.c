/* The explorer itself: classical litmus tests must show the outcomes that C11 allows, and
 * no others. Each scenario checks its own set of outcomes: forbidden ones never, allowed
 * ones at least once in the whole search. Those whose names begin with "cap" are allowed
 * and beyond the explorer's bounds (mcx_memory.c): it must not show them, or README.md is
 * wrong. rc11_fuzz.c compares all outcomes of random programs. */
#include <string.h>
#include "base/atomic.h"
#include "mcx.h"

static vat_u32 x, y, z;
static uint32_t r[4];
static int data;
static enum mcx_order store_order, load_order;
static bool fences;

static void start(enum mcx_order store, enum mcx_order load, bool with_fences)
{
    vat_u32_init(&x, 0);
    vat_u32_init(&y, 0);
    vat_u32_init(&z, 0);
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

static void setup_rlx(void)
{
    start(VAT_RLX, VAT_RLX, false);
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

/* --- fences order what is known of cells; they make nothing happen before ----------- */

/* z is 1 only if our fence came before the other's. */
static void fence_writer(void)
{
    VAT_WR(&data);
    data = 42;
    vat_u32_fence(&y);
    if (vat_u32_load(&y, VAT_RLX) == 0)
        vat_u32_store(&z, 1, VAT_RLX);
}

static void fence_reader(void)
{
    vat_u32_store(&y, 1, VAT_RLX);
    vat_u32_fence(&z);
    if (vat_u32_load(&z, load_order))
        VAT_RD(&data);
}

static void mp_fence_writer(void)
{
    VAT_WR(&data);
    data = 42;
    vat_u32_fence(&x);
    vat_u32_store(&x, 1, VAT_RLX);
}

static void mp_fence_reader(void)
{
    if (vat_u32_load(&x, VAT_RLX)) {
        vat_u32_fence(&x);
        VAT_RD(&data);
        MCX_CHECK(data == 42);
    }
}

/* --- release sequences -------------------------------------------------------------- */

/* After the release store: an RMW continues its sequence, a store ends it. */
static void rs_rmw(void)
{
    (void)vat_u32_add(&x, 2, VAT_RLX);
}

static void rs_store(void)
{
    if (vat_u32_load(&x, VAT_RLX) == 1)
        vat_u32_store(&x, 3, VAT_RLX);
}

static void rs_reader(void)
{
    if (vat_u32_load(&x, VAT_ACQ) == 3)
        VAT_RD(&data);
}

static void rs_own_writer(void)
{
    mp_writer();
    vat_u32_store(&x, 3, VAT_RLX);
}

/* --- coherence: all agree on the order of one cell's values ------------------------- */

static void write_1(void)
{
    vat_u32_store(&x, 1, VAT_RLX);
}

static void write_2(void)
{
    vat_u32_store(&x, 2, VAT_RLX);
}

static void read_twice(void)
{
    int i = mcx_self() == 2 ? 0 : 2;

    r[i] = vat_u32_load(&x, VAT_RLX);
    r[i + 1] = vat_u32_load(&x, VAT_RLX);
}

static void corr_forbidden(void)
{
    if (r[0] != 0 && r[1] == 0)
        mcx_fail("a newer value, then an older one");
    if (r[0] + r[1] == 3 && r[2] == r[1] && r[3] == r[0] && r[0] != 0 && r[1] != 0)
        mcx_fail("the readers disagree on the order of values");
}

static void write_read(void)
{
    vat_u32_store(&x, 1, VAT_RLX);
    r[0] = vat_u32_load(&x, VAT_RLX);
}

static void read_write(void)
{
    r[1] = vat_u32_load(&x, VAT_RLX);
    vat_u32_store(&x, 2, VAT_RLX);
}

static void coherence_forbidden(void)
{
    uint32_t last = vat_u32_load(&x, VAT_RLX);

    if (r[0] == 0 || (r[0] == 2 && last == 1))
        mcx_fail("what is read comes before the thread's own value");
    if (r[1] == 2 || (r[1] == 1 && last == 1))
        mcx_fail("what is read comes after the thread's own value");
}

/* --- RMWs: nothing comes between ---------------------------------------------------- */

static void rmw_add(void)
{
    r[mcx_self()] = vat_u32_add(&x, 1, VAT_RLX);
}

static void rmw_cas(void)
{
    uint32_t none = 0;

    r[2] = vat_u32_cas(&x, &none, 5, VAT_RLX, VAT_RLX);
}

static void rmw_store(void)
{
    vat_u32_store(&y, 1, VAT_RLX); /* an RMW of y that reads 0 came before */
}

static void rmw_add_y(void)
{
    r[3] = vat_u32_add(&y, 2, VAT_RLX);
}

static void rmw_forbidden(void)
{
    uint32_t last = vat_u32_load(&x, VAT_RLX), y_last = vat_u32_load(&y, VAT_RLX);

    if (r[0] == r[1] || last != 2 + 5 * r[2])
        mcx_fail("two RMWs read one value, or one that failed has written");
    if (r[3] == 0 ? y_last != 1 : y_last != 3)
        mcx_fail("a store came between the read and the write of an RMW");
}

/* --- ISA2: through a third thread --------------------------------------------------- */

static void isa2_middle(void)
{
    if (vat_u32_load(&x, load_order))
        vat_u32_store(&y, 1, store_order);
}

static void isa2_reader(void)
{
    if (vat_u32_load(&y, VAT_ACQ)) {
        VAT_RD(&data);
        MCX_CHECK(data == 42);
    }
}

/* --- WRC: what another thread has read, not written --------------------------------- */

static void wrc_middle(void)
{
    if (vat_u32_load(&x, VAT_RLX) == 1)
        vat_u32_store(&y, 1, store_order);
}

static void wrc_reader(void)
{
    if (vat_u32_load(&y, load_order) && vat_u32_load(&x, VAT_RLX) != 1)
        mcx_fail("what the other had read is not there");
}

/* --- R, S, 2+2W: the order of values ------------------------------------------------ */

static void two_stores(void)
{
    vat_u32_store(&x, 1, store_order);
    if (fences)
        vat_u32_fence(&y);
    vat_u32_store(&y, 1, store_order);
}

static void r_second(void)
{
    vat_u32_store(&y, 2, store_order);
    if (fences)
        vat_u32_fence(&x);
    r[0] = vat_u32_load(&x, load_order);
}

static void r_forbidden(void)
{
    if (vat_u32_load(&y, VAT_RLX) == 2 && r[0] == 0)
        mcx_fail("the last to store has missed what the first stored before");
}

static void s_second(void)
{
    r[0] = vat_u32_load(&y, load_order);
    vat_u32_store(&x, 2, VAT_RLX);
}

static void s_forbidden(void)
{
    if (r[0] == 1 && vat_u32_load(&x, VAT_RLX) == 1)
        mcx_fail("a value came after one that was stored later");
}

static void w22_second(void)
{
    vat_u32_store(&y, 2, VAT_RLX);
    vat_u32_store(&x, 2, VAT_RLX);
}

static void w22_forbidden(void)
{
    if (vat_u32_load(&x, VAT_RLX) == 1 && vat_u32_load(&y, VAT_RLX) == 2)
        mcx_fail("both first stores came last");
}

/* --- beyond the bounds -------------------------------------------------------------- */

static void lb_first(void)
{
    r[0] = vat_u32_load(&x, VAT_RLX);
    vat_u32_store(&y, 1, VAT_RLX);
}

static void lb_second(void)
{
    r[1] = vat_u32_load(&y, VAT_RLX);
    vat_u32_store(&x, 1, VAT_RLX);
}

static void lb_forbidden(void)
{
    if (r[0] == 1 && r[1] == 1)
        mcx_fail("both read what is stored later");
}

static void stale_writer(void)
{
    for (uint32_t i = 1; i <= 4; i++)
        vat_u32_store(&x, i, VAT_RLX);
    vat_u32_store(&y, 1, VAT_RLX);
}

static void stale_reader(void)
{
    if (vat_u32_load(&y, VAT_RLX))
        r[0] = vat_u32_load(&x, VAT_RLX);
}

static void stale_3_shown(void)
{
    if (r[0] == 1)
        mcx_fail("three values before the newest");
}

static void stale_4_forbidden(void)
{
    if (r[0] == 0)
        mcx_fail("four values before the newest");
}

static void cas_fails(void)
{
    uint32_t expected = 7;

    if (vat_u32_load(&y, VAT_RLX)) {
        (void)vat_u32_cas(&x, &expected, 8, VAT_RLX, VAT_RLX);
        r[0] = expected;
    }
}

static void cas_forbidden(void)
{
    if (r[0] == 0)
        mcx_fail("a failing CAS has read an older value");
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
#define TWO(start_, finish_, a, b)                                                       \
    .setup = start_, .finish = finish_, .threads = {{"first", a}, {"second", b}}
#define THREE(start_, a, b, c)                                                           \
    .setup = start_, .threads = {{"first", a}, {"second", b}, {"third", c}}
#define R(start_)    TWO(start_, r_forbidden, two_stores, r_second)
#define S(start_)    TWO(start_, s_forbidden, two_stores, s_second)
#define ISA2(start_) THREE(start_, mp_writer, isa2_middle, isa2_reader)
#define WRC(start_)  THREE(start_, write_1, wrc_middle, wrc_reader)
#define EXHAUSTIVE   .preempt = 99, .stale = 99, .dfs = 1000000

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
    {"fence-race", "fences alone make nothing happen before: a race",
     TWO(setup_rlx, NULL, fence_writer, fence_reader), EXHAUSTIVE, .must_fail = true},
    {"fence-acq", "with an acquire behind them they do: the first is a release",
     TWO(setup_rel_acq, NULL, fence_writer, fence_reader), EXHAUSTIVE},
    {"mp-fence", "the flag brings the data: fences around a relaxed store and load",
     TWO(setup_rlx, NULL, mp_fence_writer, mp_fence_reader), EXHAUSTIVE},
    {"rs-rmw", "a relaxed RMW continues a release sequence",
     THREE(setup_rel_acq, mp_writer, rs_rmw, rs_reader), EXHAUSTIVE},
    {"rs-store", "a relaxed store ends it",
     THREE(setup_rel_acq, mp_writer, rs_store, rs_reader), EXHAUSTIVE, .must_fail = true},
    {"rs-own", "so does one by the same thread, as C++20 has it: C11 promises more",
     TWO(setup_rel_acq, NULL, rs_own_writer, rs_reader), EXHAUSTIVE, .must_fail = true},
    {"corr", "values of a cell are seen in one order by all", .setup = setup_rlx,
     .finish = corr_forbidden,
     .threads = {{"write 1", write_1},
                 {"write 2", write_2},
                 {"read", read_twice},
                 {"read 2", read_twice}},
     EXHAUSTIVE},
    {"cowr-corw", "and that order is the one in which each thread reads and writes",
     TWO(setup_rlx, coherence_forbidden, write_read, read_write), EXHAUSTIVE},
    {"rmw", "nothing comes between the read and the write of an RMW", .setup = setup_rlx,
     .finish = rmw_forbidden,
     .threads = {{"add", rmw_add},
                 {"add 2", rmw_add},
                 {"cas", rmw_cas},
                 {"store y", rmw_store},
                 {"add y", rmw_add_y}},
     .preempt = 3, .stale = 0, .dfs = 1000000},
    {"isa2-rel-acq", "the data comes through a third thread", ISA2(setup_rel_acq),
     EXHAUSTIVE},
    {"isa2-rlx-acq", "it may not: relaxed stores", ISA2(setup_rlx_acq), EXHAUSTIVE,
     .must_fail = true},
    {"wrc-rel-acq", "what a thread has read is there for who acquires from it",
     WRC(setup_rel_acq), EXHAUSTIVE},
    {"wrc-rlx", "it may not be: relaxed", WRC(setup_rlx), EXHAUSTIVE, .must_fail = true},
    {"r-sc", "the last store to y sees the first to x: sc", R(setup_sc), EXHAUSTIVE},
    {"r-fence", "likewise: fences", R(setup_fence), EXHAUSTIVE},
    {"r-rel-acq", "it may not: release, acquire", R(setup_rel_acq), EXHAUSTIVE,
     .must_fail = true},
    {"s-rel-acq", "who has acquired y stores to x later", S(setup_rel_acq), EXHAUSTIVE},
    {"cap-s", "not shown: relaxed, x in another order", S(setup_rlx), EXHAUSTIVE},
    {"cap-2+2w", "not shown: both first stores last",
     TWO(setup_rlx, w22_forbidden, two_stores, w22_second), EXHAUSTIVE},
    {"cap-lb", "not shown: loads of what is stored later",
     TWO(setup_rlx, lb_forbidden, lb_first, lb_second), EXHAUSTIVE},
    {"stale-3", "a load reads up to three values before the newest",
     TWO(setup_rlx, stale_3_shown, stale_writer, stale_reader), EXHAUSTIVE,
     .must_fail = true},
    {"cap-stale", "not shown: four",
     TWO(setup_rlx, stale_4_forbidden, stale_writer, stale_reader), EXHAUSTIVE},
    {"cap-cas", "not shown: an older value in a failing CAS",
     TWO(setup_rlx, cas_forbidden, two_stores, cas_fails), EXHAUSTIVE},
    {0},
};

const struct mcx_model mcx_model = {
    .name = "litmus",
    .about =
        "the explorer shows what C11 allows within the explorer's bounds, and no more",
    .scenarios = scenarios,
};

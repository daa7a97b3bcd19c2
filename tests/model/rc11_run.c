/* A program of the fuzz, run by the explorer: this file is what is tested there. */
#include "rc11_run.h"
#include "base/atomic.h"

static vat_u32 variables[RC11_CELLS], *cell;
static char field[RC11_FIELDS];
static rc11_outcome seen;

static void setup(void)
{
    cell = rc11_in_heap ? mcx_malloc(RC11_CELLS * sizeof(*cell)) : variables;
    for (int i = 0; i < RC11_CELLS; i++)
        vat_u32_init(&cell[i], 0);
    seen = (rc11_outcome){0};
}

static uint32_t run_cas(const struct rc11_op *op)
{
    uint32_t v = op->expected;

    (void)vat_u32_cas(&cell[op->cell], &v, op->value, op->order, op->fail);
    return v;
}

static uint32_t run_reading(const struct rc11_op *op)
{
    switch (op->kind) {
    case RC11_XCHG:
        return vat_u32_xchg(&cell[op->cell], op->value, op->order);
    case RC11_ADD:
        return vat_u32_add(&cell[op->cell], op->value, op->order);
    case RC11_CAS:
        return run_cas(op);
    default:
        return vat_u32_load(&cell[op->cell], op->order);
    }
}

static void run_silent(const struct rc11_op *op)
{
    switch (op->kind) {
    case RC11_STORE:
        vat_u32_store(&cell[op->cell], op->value, op->order);
        break;
    case RC11_FENCE:
        vat_u32_fence(&cell[0]);
        break;
    case RC11_READ:
        VAT_RD(&field[op->cell]);
        break;
    default:
        VAT_WR(&field[op->cell]);
        break;
    }
}

static void thread(void)
{
    int me = mcx_self();
    uint32_t last = 0;

    for (int o = 0; o < rc11_running.ops[me]; o++) {
        const struct rc11_op *op = &rc11_running.op[me][o];

        if (op->guarded && last == 0)
            continue;
        if (rc11_reads(op->kind)) {
            last = run_reading(op);
            rc11_outcome_read(&seen, me, o, last);
        } else {
            run_silent(op);
        }
    }
}

static void finish(void)
{
    for (int i = 0; i < RC11_CELLS; i++)
        rc11_outcome_final(&seen, i, cell[i].v);
    rc11_show(seen);
}

#define SCENARIO(NAME, ...)                                                              \
    {                                                                                    \
        .name = NAME, .setup = setup, .finish = finish,                                  \
        .threads = {{"thread 0", thread}, __VA_ARGS__},                                  \
    }
#define SCENARIOS                                                                        \
    {                                                                                    \
        SCENARIO("one", {0}), SCENARIO("two", {"thread 1", thread}),                     \
            SCENARIO("three", {"thread 1", thread}, {"thread 2", thread}),               \
            SCENARIO("four", {"thread 1", thread}, {"thread 2", thread},                 \
                     {"thread 3", thread})                                               \
    }

const struct mcx_scenario rc11_scenarios[2][RC11_THREADS] = {SCENARIOS, SCENARIOS};

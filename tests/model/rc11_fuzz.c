/* Differential fuzz of the explorer against RC11's axioms (rc11.h): random programs, of
 * which the explorer must show exactly the outcomes, and the data races, that RC11 allows
 * within the explorer's bounds, and nothing that RC11 forbids.
 *
 * Programs stay below the bound on stale values: no cell is written more than three
 * times. Those with few loads are searched as the models are, leaving out states that
 * have been seen; the others in full.
 *
 * A difference is made smaller, operation by operation, and printed with the command that
 * repeats it. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mcx_internal.h"
#include "rc11_run.h"

#define MOST_WRITES 3     /* of a cell: one less than the values a load may choose from */
#define MOST_STALE  3     /* in an execution that leaves out states */
#define MOST_COST   2000  /* candidates */
#define MOST_RUNS   20000 /* executions; longer searches are given up */

unsigned mcx_group_size = 48; /* of sources that are not here */

/* Linked before mcx_zone.c: the explorer leaves these alone. */
struct rc11_program rc11_running;
bool rc11_in_heap;
static struct rc11_set shown, allowed;
static bool too_many; /* outcomes, or executions */
static bool broken;   /* the explorer ends with anything but a data race */

void rc11_show(rc11_outcome o)
{
    too_many |= !rc11_set_add(&shown, o, RC11_SHOWN);
}

/* --- comparison --------------------------------------------------------------------- */

static struct {
    unsigned programs, merged, too_large, races, outcomes;
    /* Outcomes that RC11 allows and the explorer does not show, by the first bound that
     * leaves them out; shown ones that C11's release sequences forbid. */
    unsigned order, sc_loads, failing_cas, release_sequences;
} count;

static int loads(const struct rc11_program *p)
{
    int n = 0;

    for (int t = 0; t < p->threads; t++)
        for (int o = 0; o < p->ops[t]; o++)
            n += p->op[t][o].kind == RC11_LOAD;
    return n;
}

/* True: with a data race. */
static bool explore(const struct rc11_program *p, bool merge)
{
    static int turn;
    struct mcx_bounds b = {.mode = MODE_DFS,
                           .preempt = merge ? RC11_THREADS * RC11_OPS : -1,
                           .stale = merge ? MOST_STALE : -1,
                           .full = !merge,
                           .executions = MOST_RUNS,
                           .rash = true};
    struct mcx_result r;

    turn = !turn;
    rc11_running = *p;
    shown.n = 0;
    too_many = false;
    mcx_explore(&rc11_scenarios[turn][p->threads - 1], &b, &r);
    broken = r.failed && strncmp(r.why, "data race", strlen("data race")) != 0;
    too_many |= !r.failed && !r.exhausted;
    return r.failed;
}

static unsigned flags_of(const struct rc11_set *s, rc11_outcome o)
{
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].outcome.read == o.read && s->entry[i].outcome.final == o.final)
            return s->entry[i].flags;
    return 0;
}

enum verdict { SAME, RACES, DIFFERS, TOO_LARGE };

static const char *why;
static rc11_outcome what; /* unless it is about a race */

static enum verdict differs(const char *text, rc11_outcome o)
{
    why = text;
    what = o;
    return DIFFERS;
}

static void count_outcomes(void)
{
    for (int i = 0; i < allowed.n; i++) {
        unsigned f = allowed.entry[i].flags;

        count.outcomes += (f & RC11_SHOWN) != 0;
        count.order += (f & RC11_ALLOWED) && !(f & RC11_IN_ORDER);
        count.sc_loads += (f & RC11_IN_ORDER) && !(f & RC11_SC_LOADS);
        count.failing_cas += (f & RC11_SC_LOADS) && !(f & RC11_SHOWN);
        count.release_sequences += (f & RC11_SHOWN) && !(f & RC11_ALLOWED_C11);
    }
}

static enum verdict compare_outcomes(void)
{
    for (int i = 0; i < shown.n; i++) {
        rc11_outcome o = shown.entry[i].outcome;
        unsigned f = flags_of(&allowed, o);

        if (!(f & RC11_ALLOWED))
            return differs("the explorer shows what RC11 forbids", o);
        if (!(f & RC11_SHOWN))
            return differs("the explorer shows what is beyond its bounds", o);
    }
    for (int i = 0; i < allowed.n; i++)
        if ((allowed.entry[i].flags & RC11_SHOWN) &&
            !flags_of(&shown, allowed.entry[i].outcome))
            return differs("the explorer does not show what RC11 allows",
                           allowed.entry[i].outcome);
    return SAME;
}

static enum verdict compare(const struct rc11_program *p, bool merge)
{
    unsigned races;

    if (!rc11_outcomes(p, &allowed, &races))
        return TOO_LARGE;
    bool raced = explore(p, merge);

    if (broken)
        return differs("the explorer itself fails", (rc11_outcome){0});
    if (too_many)
        return TOO_LARGE;
    if (raced && !(races & RC11_ALLOWED))
        return differs("the explorer finds a data race that RC11 does not",
                       (rc11_outcome){0});
    if (!raced && (races & RC11_SHOWN))
        return differs("the explorer misses a data race", (rc11_outcome){0});
    return raced ? RACES : compare_outcomes();
}

/* --- programs ----------------------------------------------------------------------- */

static uint64_t rng;

static int below(int n)
{
    rng += 0x9E3779B97F4A7C15u;
    return (int)(mcx_mix(rng, 7) % (uint64_t)n);
}

static enum mcx_order pick(const enum mcx_order *orders, int n, int style)
{
    switch (style) {
    case 0:
        return orders[0]; /* the weakest */
    case 1:
        return orders[n - 1]; /* the strongest */
    default:
        return orders[below(n)];
    }
}

static void pick_orders(struct rc11_op *op, int style)
{
    static const enum mcx_order load[] = {VAT_RLX, VAT_ACQ, VAT_SC};
    static const enum mcx_order store[] = {VAT_RLX, VAT_REL, VAT_SC};
    static const enum mcx_order rmw[] = {VAT_RLX, VAT_ACQ, VAT_REL, VAT_AR, VAT_SC};

    if (style < 2 && below(3) == 0)
        style = 2;
    if (op->kind == RC11_LOAD)
        op->order = pick(load, 3, style);
    else if (op->kind == RC11_STORE)
        op->order = pick(store, 3, style);
    else
        op->order = pick(rmw, 5, style);
    op->fail = pick(load, 3, 2);
}

/* What a program is made of. */
static const char *const mixes[] = {"LLSS",  "LLSSF", "LLSSA",  "LSFF",  "LSXAC",
                                    "LSACF", "LSPQ",  "LSFFPQ", "LSAFQ", "LSXPQ"};

static enum rc11_kind kind_of(char c)
{
    static const char letters[] = "LSXACFPQ"; /* as in enum rc11_kind */

    return (enum rc11_kind)(strchr(letters, c) - letters);
}

static struct rc11_op make_op(const char *mix, int cells, int style)
{
    struct rc11_op op = {.kind = kind_of(mix[below((int)strlen(mix))])};
    bool plain = op.kind == RC11_READ || op.kind == RC11_WRITE;

    op.guarded = below(plain ? 2 : 8) == 0;
    op.cell = plain ? below(4) == 0 : below(cells);
    op.value = (uint32_t)below(4) + 1;
    op.expected = (uint32_t)below(3);
    pick_orders(&op, style);
    return op;
}

/* Anything. */
static void make_mixture(struct rc11_program *p)
{
    static const int threads[] = {2, 2, 2, 3, 3, 4}, cells[] = {1, 2, 2, 2, 2, 3};
    static const int most[] = {0, 0, 4, 3, 2}; /* operations of a thread */
    int n = cells[below(6)], style = below(4);
    const char *mix = mixes[below(sizeof(mixes) / sizeof(mixes[0]))];

    p->threads = threads[below(6)];
    for (int t = 0; t < p->threads; t++) {
        p->ops[t] = most[p->threads] - (below(3) == 0);
        for (int o = 0; o < p->ops[t]; o++)
            p->op[t][o] = make_op(mix, n, style);
    }
}

static void add_op(struct rc11_program *p, int t, const char *mix, int cell, int style)
{
    struct rc11_op op = {.kind = kind_of(mix[below((int)strlen(mix))]), .cell = cell};

    if (p->ops[t] == RC11_OPS)
        return;
    op.guarded = op.kind == RC11_READ || op.kind == RC11_WRITE || below(4) == 0;
    op.value = 1 + (uint32_t)(below(3) == 0);
    op.expected = (uint32_t)(below(3) != 0);
    pick_orders(&op, style);
    p->op[t][p->ops[t]++] = op;
}

/* As the classical tests are: each thread does something to a cell and then to the next
 * one's, all around; one of these may be a plain field. With luck something comes
 * between, or another thread continues a release sequence. */
static void make_circle(struct rc11_program *p)
{
    static const char *const atomic[] = {"LS", "LS", "LSXAC"};
    int n = 2 + below(2), field = below(2) ? below(n) : -1, style = 2 + below(2);
    const char *mix = atomic[below(3)];

    p->threads = n;
    for (int t = 0; t < n; t++) {
        add_op(p, t, t == field ? "PQ" : mix, t == field ? 0 : t, style);
        p->op[t][0].guarded = false;
        if (below(3) == 0)
            add_op(p, t, below(2) ? "F" : mix, below(n), below(2));
        int next = (t + 1) % n;
        add_op(p, t, next == field ? "PQ" : mix, next == field ? 0 : next, style);
        if (below(6) == 0)
            add_op(p, t, "SF", t, 0);
    }
    if (below(3) == 0)
        add_op(p, p->threads++, "CCA", below(n), 0);
}

/* No cell has too many values. */
static bool fits(const struct rc11_program *p)
{
    int writes[RC11_CELLS] = {0};

    for (int t = 0; t < p->threads; t++)
        for (int o = 0; o < p->ops[t]; o++)
            if (rc11_writes(p->op[t][o].kind) && ++writes[p->op[t][o].cell] > MOST_WRITES)
                return false;
    return rc11_cost(p) <= MOST_COST;
}

static void make_program(struct rc11_program *p, uint64_t seed)
{
    rng = seed;
    do {
        memset(p, 0, sizeof(*p));
        if (below(3) == 0)
            make_mixture(p);
        else
            make_circle(p);
    } while (!fits(p));
}

/* --- reports ------------------------------------------------------------------------ */

static void print_op(const struct rc11_op *op)
{
    static const char *const orders[] = {"rlx", "acq", "rel", "ar", "sc"};
    const char *order = orders[op->order];
    char c = "xyz"[op->cell], f = "abc"[op->cell];

    printf(op->guarded ? " if (last)" : "");
    switch (op->kind) {
    case RC11_LOAD:
        printf(" load %c %s;", c, order);
        break;
    case RC11_STORE:
        printf(" store %c=%u %s;", c, op->value, order);
        break;
    case RC11_XCHG:
        printf(" xchg %c=%u %s;", c, op->value, order);
        break;
    case RC11_ADD:
        printf(" add %c+=%u %s;", c, op->value, order);
        break;
    case RC11_CAS:
        printf(" cas %c %u->%u %s/%s;", c, op->expected, op->value, order,
               orders[op->fail]);
        break;
    case RC11_FENCE:
        printf(" fence;");
        break;
    case RC11_READ:
        printf(" read %c;", f);
        break;
    case RC11_WRITE:
        printf(" write %c;", f);
        break;
    }
}

static void print_difference(const struct rc11_program *p)
{
    printf("  %s\n", why);
    for (int t = 0; t < p->threads; t++) {
        printf("  thread %d:", t);
        for (int o = 0; o < p->ops[t]; o++)
            print_op(&p->op[t][o]);
        printf("   reads");
        for (int o = 0; o < p->ops[t]; o++)
            if (rc11_reads(p->op[t][o].kind))
                printf(" %u",
                       (unsigned)(what.read >> (t * RC11_OPS + o) * RC11_VALUE_BITS) %
                           RC11_VALUES);
        printf("\n");
    }
    printf("  at the end");
    for (int c = 0; c < RC11_CELLS; c++)
        printf(" %c=%u", "xyz"[c],
               (unsigned)(what.final >> c * RC11_VALUE_BITS) % RC11_VALUES);
    printf("\n");
}

/* Leaves out operations as long as there is a difference. */
static void shrink(struct rc11_program *p, bool merge)
{
    for (int t = 0; t < p->threads; t++)
        for (int o = 0; o < p->ops[t]; o++) {
            struct rc11_program less = *p;

            less.ops[t]--;
            memmove(&less.op[t][o], &less.op[t][o + 1],
                    (size_t)(less.ops[t] - o) * sizeof(less.op[t][0]));
            if (compare(&less, merge) != DIFFERS)
                continue;
            *p = less;
            t = 0;
            o = -1;
        }
    (void)compare(p, merge); /* says why */
}

/* False: explorer and axioms differ. */
static bool try_program(uint64_t seed)
{
    struct rc11_program p;
    bool merge;

    make_program(&p, seed);
    rc11_in_heap = below(4) != 0;
    merge = loads(&p) <= MOST_STALE && below(4) != 0;
    switch (compare(&p, merge)) {
    case TOO_LARGE:
        count.too_large++;
        return true;
    case RACES:
        count.programs++;
        count.races++;
        return true;
    case SAME:
        count.programs++;
        count.merged += merge;
        count_outcomes();
        return true;
    case DIFFERS:
        break;
    }
    shrink(&p, merge);
    printf("rc11 FAIL  repeat: build/model/rc11_fuzz --program %#llx\n",
           (unsigned long long)seed);
    print_difference(&p);
    return false;
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run(uint64_t seed, double seconds)
{
    double until = now() + seconds;
    unsigned differ = 0;

    for (uint64_t i = 0; now() < until && differ < 3; i++)
        differ += !try_program(mcx_mix(seed, i));
    printf("rc11 seed=%llu programs=%u (%u leaving out states) races=%u outcomes=%u "
           "too-large=%u differ=%u\n",
           (unsigned long long)seed, count.programs, count.merged, count.races,
           count.outcomes, count.too_large, differ);
    printf("  allowed by RC11, not shown: %u need an order other than execution's, %u an "
           "sc load\n  older than a fence before it has seen, %u an older value in a "
           "failing CAS;\n  shown, though C11's release sequences, longer than C++20's, "
           "forbid it: %u\n",
           count.order, count.sc_loads, count.failing_cas, count.release_sequences);
    return differ || count.programs == 0;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {{"seconds", required_argument, NULL, 's'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"program", required_argument, NULL, 'p'},
                                          {0}};
    struct timespec ts;
    double seconds = 10;
    uint64_t seed;

    clock_gettime(CLOCK_REALTIME, &ts);
    seed = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
    mcx_fiber_setup();
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        if (c == 's') {
            seconds = atof(optarg);
        } else if (c == 'S') {
            seed = strtoull(optarg, NULL, 0);
        } else if (c == 'p') {
            return !try_program(strtoull(optarg, NULL, 0));
        } else {
            fprintf(stderr, "usage: %s [--seconds N] [--seed S] [--program P]\n",
                    argv[0]);
            return 2;
        }
    }
    return run(seed, seconds);
}

/* The axioms of RC11 over all candidates: for each reading operation a write that it
 * reads from (rf), for each cell an order of its writes (mo). The values follow from rf,
 * as sb and rf together have no cycle (NO-THIN-AIR); what remains is checked as the paper
 * has it. An RMW is two events, related by rmw. Each candidate takes microseconds: for
 * programs of about ten operations. */
#include <stdlib.h>
#include <string.h>
#include "rc11.h"
#include "relation.h"

#define NOWHERE (-1) /* no cell */
#define READS   (RC11_THREADS * RC11_OPS)

struct event {
    int thread;   /* -1: the first value of a cell */
    int location; /* cell, or RC11_CELLS + field */
    uint32_t value;
};

/* An operation in a candidate. */
struct step {
    bool done, present, writes;
    int source; /* what it reads from: thread * RC11_OPS + op, or FIRST_VALUE */
    uint32_t read, wrote;
    int read_event, write_event;
};
#define FIRST_VALUE (-1)

static const struct rc11_program *program;
static struct step step[RC11_THREADS][RC11_OPS];
static struct event event[RELATION_EVENTS];
static int nevents;
static event_set all, reads, writes, fences, plain, acquires, releases, sc, failed_cas;
static struct relation sb, rf, rmw, same_cell;
static struct relation hb, hb_c11; /* by the release sequences of C++20; of C11 */
static bool differ;                /* these two */
static int chain[RC11_CELLS][RELATION_EVENTS], chained[RC11_CELLS]; /* mo */
static struct rc11_set *found;
static unsigned raced;
static bool full;

static bool may_write(const struct rc11_program *p, int t, int o, int cell)
{
    return t < p->threads && o < p->ops[t] && rc11_writes(p->op[t][o].kind) &&
           p->op[t][o].cell == cell;
}

bool rc11_set_add(struct rc11_set *s, rc11_outcome o, unsigned flags)
{
    for (int i = 0; i < s->n; i++)
        if (s->entry[i].outcome.read == o.read && s->entry[i].outcome.final == o.final) {
            s->entry[i].flags |= flags;
            return true;
        }
    if (s->n == RC11_OUTCOMES)
        return false;
    s->entry[s->n].outcome = o;
    s->entry[s->n++].flags = flags;
    return true;
}

/* --- values ------------------------------------------------------------------------- */

static bool is_acquire(enum mcx_order o)
{
    return o == VAT_ACQ || o == VAT_AR || o == VAT_SC;
}

static bool is_release(enum mcx_order o)
{
    return o == VAT_REL || o == VAT_AR || o == VAT_SC;
}

static uint32_t written(const struct rc11_op *op, uint32_t old)
{
    return op->kind == RC11_ADD ? old + op->value : op->value;
}

/* False: the source has not been evaluated, or is no write after all (*ret_never). */
static bool read_source(struct step *s, bool *ret_never)
{
    const struct step *from;

    if (s->source == FIRST_VALUE) {
        s->read = 0;
        return true;
    }
    from = &step[s->source / RC11_OPS][s->source % RC11_OPS];
    *ret_never = from->done && !from->writes;
    s->read = from->wrote;
    return from->done && from->writes;
}

/* Evaluates an operation; `last` is what its thread has read last. False: not yet, or
 * never. */
static bool evaluate_op(int t, int o, uint32_t *last, bool *ret_never)
{
    const struct rc11_op *op = &program->op[t][o];
    struct step *s = &step[t][o];

    s->present = !op->guarded || *last != 0;
    s->writes = false;
    if (!s->present) {
        *ret_never = s->source != FIRST_VALUE; /* said once */
        s->done = !*ret_never;
        return s->done;
    }
    if (rc11_reads(op->kind)) {
        if (!read_source(s, ret_never))
            return false;
        *last = s->read;
    }
    s->writes = op->kind == RC11_STORE || op->kind == RC11_XCHG || op->kind == RC11_ADD ||
                (op->kind == RC11_CAS && s->read == op->expected);
    s->wrote = s->writes ? written(op, s->read) : 0;
    return s->done = true;
}

/* All values, by what reads from what. False: that has a cycle, or reads what is not
 * written. */
static bool evaluate(void)
{
    int at[RC11_THREADS] = {0}, left = 0;
    uint32_t last[RC11_THREADS] = {0};
    bool progress = true, never = false;

    for (int t = 0; t < program->threads; t++) {
        left += program->ops[t];
        for (int o = 0; o < program->ops[t]; o++)
            step[t][o].done = false;
    }
    while (progress && left > 0) {
        progress = false;
        for (int t = 0; t < program->threads; t++)
            while (at[t] < program->ops[t] && evaluate_op(t, at[t], &last[t], &never)) {
                at[t]++;
                left--;
                progress = true;
            }
        if (never)
            return false;
    }
    return left == 0;
}

/* --- events ------------------------------------------------------------------------- */

static int add_event(int thread, int location, uint32_t value)
{
    event[nevents] = (struct event){thread, location, value};
    all |= 1u << nevents;
    return nevents++;
}

static void add_order(int e, enum mcx_order o, bool reading, bool writing)
{
    if (reading) {
        reads |= 1u << e;
        acquires |= (event_set)is_acquire(o) << e;
    }
    if (writing) {
        writes |= 1u << e;
        releases |= (event_set)is_release(o) << e;
    }
    sc |= (event_set)(o == VAT_SC) << e;
}

static void add_op(int t, int o)
{
    const struct rc11_op *op = &program->op[t][o];
    struct step *s = &step[t][o];
    int e;

    if (op->kind == RC11_FENCE) {
        e = add_event(t, NOWHERE, 0);
        fences |= 1u << e;
        sc |= 1u << e;
        acquires |= 1u << e;
        releases |= 1u << e;
        return;
    }
    if (op->kind == RC11_READ || op->kind == RC11_WRITE) {
        e = add_event(t, RC11_CELLS + op->cell, op->kind == RC11_WRITE);
        plain |= 1u << e;
        return;
    }
    if (rc11_reads(op->kind)) {
        bool fails = op->kind == RC11_CAS && !s->writes;

        s->read_event = add_event(t, op->cell, s->read);
        add_order(s->read_event, fails ? op->fail : op->order, true, false);
        failed_cas |= (event_set)fails << s->read_event;
    }
    if (s->writes) {
        s->write_event = add_event(t, op->cell, s->wrote);
        add_order(s->write_event, op->order, false, true);
        if (rc11_reads(op->kind))
            relation_set(&rmw, s->read_event, s->write_event);
        chain[op->cell][chained[op->cell]++] = s->write_event;
    }
}

static void build_events(void)
{
    nevents = 0;
    all = reads = writes = fences = plain = acquires = releases = sc = failed_cas = 0;
    sb = rf = rmw = same_cell = relation_none(RELATION_EVENTS);
    for (int c = 0; c < RC11_CELLS; c++) {
        chained[c] = 0;
        writes |= 1u << add_event(-1, c, 0);
    }
    for (int t = 0; t < program->threads; t++)
        for (int o = 0; o < program->ops[t]; o++)
            if (step[t][o].present)
                add_op(t, o);
    sb.n = rf.n = rmw.n = same_cell.n = nevents;
    for (int a = 0; a < nevents; a++)
        for (int b = 0; b < nevents; b++) {
            if (a < b && event[b].thread >= 0 &&
                (event[a].thread < 0 || event[a].thread == event[b].thread))
                relation_set(&sb, a, b);
            if (a != b && event[a].location >= 0 &&
                event[a].location == event[b].location)
                relation_set(&same_cell, a, b);
        }
    for (int t = 0; t < program->threads; t++)
        for (int o = 0; o < program->ops[t]; o++) {
            const struct step *s = &step[t][o];
            int from = program->op[t][o].cell; /* its first value's event */

            if (!s->present || !rc11_reads(program->op[t][o].kind))
                continue;
            if (s->source != FIRST_VALUE)
                from = step[s->source / RC11_OPS][s->source % RC11_OPS].write_event;
            relation_set(&rf, from, s->read_event);
        }
}

/* --- axioms ------------------------------------------------------------------------- */

/* sw = [rel]; ([F]; sb)?; rs; rf; [R]; (sb; [F])?; [acq], hb = (sb or sw)+. Of cells, all
 * accesses are atomic. */
static struct relation happens_before(struct relation rs)
{
    struct relation r = relation_between(writes, rs, writes);

    r = relation_then(relation_maybe(relation_between(fences, sb, all)), r);
    r = relation_then(relation_between(releases, r, all), rf);
    r = relation_then(r, relation_maybe(relation_between(all, sb, fences)));
    return relation_closure(relation_or(sb, relation_between(all, r, acquires)));
}

static void find_happens_before(void)
{
    /* (rf; rmw)* */
    struct relation later = relation_maybe(relation_closure(relation_then(rf, rmw)));
    struct relation own = relation_maybe(relation_and(sb, same_cell));

    for (int i = 0; i < nevents; i++)
        if (event[i].thread < 0)
            own.row[i] = 1u << i;
    own = relation_between(writes, own, writes);
    hb = happens_before(later);
    hb_c11 = happens_before(relation_then(own, later));
    differ = memcmp(hb.row, hb_c11.row, (size_t)nevents * sizeof(hb.row[0])) != 0;
}

/* By the happens-before given. psc is filled in if it is consistent. */
static bool is_consistent(struct relation before, struct relation mo, struct relation rb,
                          struct relation *psc)
{
    struct relation eco = relation_closure(relation_or(relation_or(rf, mo), rb));

    if (!relation_irreflexive(before) || /* COHERENCE */
        !relation_irreflexive(relation_then(before, eco)) ||
        !relation_empty(relation_and(rmw, relation_then(rb, mo)))) /* ATOMICITY */
        return false;

    struct relation elsewhere = relation_without(sb, same_cell); /* sb, other locations */
    struct relation scb = relation_then(relation_then(elsewhere, before), elsewhere);
    struct relation maybe_before = relation_maybe(before);
    event_set fenced = fences & sc;
    /* [F]; hb?, or an access by itself; and the other way round */
    struct relation from = relation_between(fenced, maybe_before, all);
    struct relation to = relation_between(all, maybe_before, fenced);

    for (int i = 0; i < nevents; i++) {
        from.row[i] |= (sc >> i & 1) << i;
        to.row[i] |= (sc >> i & 1) << i;
    }
    scb = relation_or(scb, relation_or(sb, relation_and(before, same_cell)));
    scb = relation_or(scb, relation_or(mo, rb));
    *psc = relation_then(relation_then(from, scb), to);
    struct relation between = relation_then(relation_then(before, eco), before);
    between = relation_between(fenced, relation_or(before, between), fenced);
    *psc = relation_or(*psc, between);
    return relation_acyclic(*psc); /* SC */
}

/* What the explorer's bounds leave of a consistent candidate. */
static unsigned within_bounds(struct relation mo, struct relation rb, struct relation psc)
{
    struct relation order = relation_or(relation_or(sb, rf), relation_or(mo, psc));
    /* A load that reads older than a fence has seen comes before that fence. */
    struct relation seen = relation_then(relation_maybe(rf), relation_maybe(hb));
    struct relation early = relation_then(relation_between(reads & sc, rb, all), seen);

    if (!relation_acyclic(order))
        return 0;
    order = relation_or(order, relation_between(all, early, fences));
    if (!relation_acyclic(order))
        return RC11_IN_ORDER;
    order = relation_or(order, relation_between(failed_cas, rb, all));
    if (!relation_acyclic(order))
        return RC11_IN_ORDER | RC11_SC_LOADS;
    return RC11_IN_ORDER | RC11_SC_LOADS | RC11_SHOWN;
}

static bool has_race(struct relation before)
{
    for (int a = 0; a < nevents; a++)
        for (int b = a + 1; b < nevents; b++)
            if (plain >> a & plain >> b & 1 && relation_has(&same_cell, a, b) &&
                event[a].thread != event[b].thread && (event[a].value | event[b].value) &&
                !relation_has(&before, a, b) && !relation_has(&before, b, a))
                return true;
    return false;
}

static rc11_outcome outcome(void)
{
    rc11_outcome o = {0};

    for (int t = 0; t < program->threads; t++)
        for (int i = 0; i < program->ops[t]; i++)
            if (step[t][i].present && rc11_reads(program->op[t][i].kind))
                rc11_outcome_read(&o, t, i, step[t][i].read);
    for (int c = 0; c < RC11_CELLS; c++)
        rc11_outcome_final(&o, c, chained[c] ? event[chain[c][chained[c] - 1]].value : 0);
    return o;
}

static void look(void)
{
    struct relation mo = relation_none(nevents), psc;
    unsigned flags = 0;

    for (int c = 0; c < RC11_CELLS; c++)
        for (int i = 0; i < chained[c]; i++) {
            relation_set(&mo, c, chain[c][i]);
            for (int k = i + 1; k < chained[c]; k++)
                relation_set(&mo, chain[c][i], chain[c][k]);
        }
    struct relation rb = relation_then(relation_inverse(rf), mo);

    if (is_consistent(hb, mo, rb, &psc)) {
        flags = RC11_ALLOWED | within_bounds(mo, rb, psc);
        if (has_race(hb))
            raced |= flags;
    }
    if (differ ? is_consistent(hb_c11, mo, rb, &psc) : flags != 0) {
        flags |= RC11_ALLOWED_C11;
        if (has_race(hb_c11))
            raced |= RC11_ALLOWED_C11;
    }
    if (flags && !rc11_set_add(found, outcome(), flags))
        full = true;
}

/* --- all candidates ----------------------------------------------------------------- */

static void order_writes(int c, int from)
{
    if (c == RC11_CELLS) {
        look();
        return;
    }
    if (from >= chained[c]) {
        order_writes(c + 1, 0);
        return;
    }
    for (int i = from; i < chained[c]; i++) {
        int w = chain[c][i];

        chain[c][i] = chain[c][from];
        chain[c][from] = w;
        order_writes(c, from + 1);
        chain[c][from] = chain[c][i];
        chain[c][i] = w;
    }
}

static void choose_sources(int t, int o)
{
    if (t == program->threads) {
        if (!evaluate())
            return;
        build_events();
        find_happens_before();
        if (relation_irreflexive(hb)) /* hb_c11 has all of it */
            order_writes(0, 0);
        return;
    }
    if (o == program->ops[t]) {
        choose_sources(t + 1, 0);
        return;
    }
    step[t][o].source = FIRST_VALUE;
    choose_sources(t, o + 1);
    if (!rc11_reads(program->op[t][o].kind))
        return;
    for (int i = 0; i < READS; i++) {
        int from = i / RC11_OPS, k = i % RC11_OPS;

        if ((from == t && k >= o) || !may_write(program, from, k, program->op[t][o].cell))
            continue;
        step[t][o].source = i;
        choose_sources(t, o + 1);
    }
}

double rc11_cost(const struct rc11_program *p)
{
    double cost = 1;
    int n[RC11_CELLS] = {0};

    for (int i = 0; i < READS; i++)
        for (int c = 0; c < RC11_CELLS; c++)
            n[c] += may_write(p, i / RC11_OPS, i % RC11_OPS, c);
    for (int t = 0; t < p->threads; t++)
        for (int o = 0; o < p->ops[t]; o++)
            if (rc11_reads(p->op[t][o].kind))
                cost *= n[p->op[t][o].cell] + 1;
    for (int c = 0; c < RC11_CELLS; c++)
        for (int k = 2; k <= n[c]; k++)
            cost *= k;
    return cost;
}

bool rc11_outcomes(const struct rc11_program *p, struct rc11_set *ret, unsigned *ret_race)
{
    program = p;
    found = ret;
    raced = 0;
    full = false;
    ret->n = 0;
    memset(step, 0, sizeof(step));
    choose_sources(0, 0);
    *ret_race = raced;
    return !full;
}

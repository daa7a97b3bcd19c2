/* Whether what waits inside jobs and leases could ever go on: daemon/core/deadlock.c is
 * asked about each call and each edit, and what it says is compared with this.
 *
 * That follows one way through what waits, backwards from what is asked for. Here all
 * jobs and leases of the user are looked at, again and again, and whatever may go on by
 * what is known to go on is marked, until nothing is marked any more. What is left never
 * goes on: a refusal is right if and only if what is asked about is left. So each circle
 * is found here, of whatever length. */
#include "tests/sim/circles.h"

#include <string.h>

#include "daemon/admit/state.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/each.h"
#include "daemon/core/inner_wait.h"
#include "daemon/core/state.h"
#include "tests/sim/sim.h"

/* A job, an array as a whole, or a lease. */
struct thing {
    const struct job *job;     /* as it is to be, of one that is edited; NULL: a lease */
    const struct lease *lease; /* NULL: a job */
    const struct waiter *place,
        *wants;      /* as it is; as it is to be, of one that is edited */
    bool gets, ends; /* what it claims; as a whole */
    size_t first, n; /* of a job: its elements, one of a job alone */
};

/* A job or an element. */
struct element {
    bool queued, done;
    bool starts, ends;
};

static struct {
    struct core *core;
    uid_t uid;
    const struct job *edited;        /* NULL: none is */
    const struct inner_wait *asking; /* NULL: no call is */
    struct thing *things;
    size_t nthings;
    struct element *elements;
    size_t nelements;
    bool changed;
} model;

/* --- all that there is ------------------------------------------------------------- */

/* What an earlier voltd may have begun waits in the line until that is known. */
static struct element element_of(const struct job *job, int64_t offset)
{
    const struct job_status st = jobs_any_status(job, offset);
    const struct work *w = jobs_done(job) ? NULL : jobs_live(job, offset);
    const bool waits = offset == NO_OFFSET && st.state != JOB_DONE
                           ? admission_waits(&job->waiter)
                           : w && (w->place == PLACE_WAITS || w->place == PLACE_EARLY);

    return (struct element){.queued = st.state == JOB_QUEUED || waits,
                            .done = st.state == JOB_DONE};
}

static void add_job(const struct job *job)
{
    const struct job *as =
        model.edited && model.edited->id == job->id ? model.edited : job;
    const bool counts = job->array && array_is_counts(job->array);
    struct thing t = {.job = as,
                      .place = &job->waiter,
                      .wants = &as->waiter,
                      .first = model.nelements,
                      .n = counts       ? 0
                           : job->array ? job->array->total
                                        : 1};

    for (size_t i = 0; i < t.n; i++)
        SIM_PUSH(model.elements, model.nelements,
                 element_of(job, job->array ? (int64_t)i : NO_OFFSET));
    SIM_PUSH(model.things, model.nthings, t);
}

static void begin(struct core *core, uid_t uid)
{
    uint64_t id = 0;
    struct job *job;

    model.core = core;
    model.uid = uid;
    model.nthings = model.nelements = 0;
    do {
        size_t steps = SIZE_MAX;

        id = table_next(&core->table, id, &steps, &job);
        if (job && job->owner.uid == uid)
            add_job(job);
    } while (id);
    for (const struct lease *l = leases_next(core, uid, NULL); l;
         l = leases_next(core, uid, l))
        SIM_PUSH(model.things, model.nthings,
                 (struct thing){.lease = l, .place = &l->waiter, .wants = &l->waiter});
}

static struct thing *find(uint64_t id)
{
    for (size_t i = 0; i < model.nthings; i++)
        if (model.things[i].job && model.things[i].job->id == id)
            return &model.things[i];
    return NULL;
}

static struct element *at(const struct thing *t, size_t i)
{
    return &model.elements[t->first + i];
}

/* --- what waits inside ------------------------------------------------------------- */

/* Where it waits: a lease within a lease is inside of both. */
static bool is_in_lease(uint64_t lease, const struct lease *outer)
{
    for (const struct lease *l; (l = leases_find(model.core, lease)); lease = l->in_lease)
        if (l == outer)
            return true;
    return false;
}

static bool is_in_job(const struct job_key *in, const struct job_key *key)
{
    return in->id == key->id && (in->index == key->index || (key->index == JOB_NO_INDEX &&
                                                             find(key->id)->job->array));
}

static bool job_ends(const struct job_key *key);

static bool all_end(const struct inner_wait *n)
{
    for (size_t i = 0; i < n->n; i++) {
        const struct job_key key = n->job(n->arg, i);

        if (!job_ends(&key))
            return false;
    }
    return true;
}

/* key NULL: inside the lease. */
static bool is_inside(const struct job_key *in_job, uint64_t in_lease,
                      const struct job_key *key, const struct lease *lease)
{
    return key ? is_in_job(in_job, key) : is_in_lease(in_lease, lease);
}

static bool inside_goes_on(const struct job_key *key, const struct lease *lease)
{
    const struct user *u = users_find(&model.core->users, model.uid);

    for (size_t i = 0; i < model.nthings; i++) {
        const struct lease *l = model.things[i].lease;

        if (l && l->state == LEASE_WAITS && !model.things[i].gets &&
            is_inside(&l->in_job, l->in_lease, key, lease))
            return false;
    }
    for (struct list_node *n = u->inner_waits.first; n; n = n->next) {
        const struct inner_wait *call = list_thing(n, struct inner_wait, node);

        if (is_inside(&call->in_job, call->in_lease, key, lease) && !all_end(call))
            return false;
    }
    return !model.asking ||
           !is_inside(&model.asking->in_job, model.asking->in_lease, key, lease) ||
           all_end(model.asking);
}

/* --- what is claimed --------------------------------------------------------------- */

static const struct claim *claim_on(const struct waiter *w, const struct resource *r)
{
    size_t n;
    const struct claim *all = admission_claims(w, &n);

    for (size_t i = 0; i < n; i++)
        if (all[i].resource == r)
            return &all[i];
    return NULL;
}

/* What holders have that do not go on, of what is wanted. */
struct kept {
    const struct claim *of;
    uint64_t amount;
    bool conflicts;
};

static void keep(struct kept *k, const struct waiter *holder)
{
    const struct claim *has = claim_on(holder, k->of->resource);

    if (!has)
        return;
    k->amount += has->amount;
    k->conflicts |= has->exclusive || k->of->exclusive;
}

static bool is_kept(const struct claim *of)
{
    const struct user *u = users_find(&model.core->users, model.uid);
    struct kept k = {.of = of};

    for (const struct list_node *n = u->holders.first; n; n = n->next) {
        const struct work *w = list_thing(n, struct work, held);
        const struct job_key key = jobs_key(w->job, w->offset);

        if (claim_on(&w->job->waiter, of->resource) && !inside_goes_on(&key, NULL))
            keep(&k, &w->job->waiter);
    }
    for (size_t i = 0; i < model.nthings; i++) {
        const struct lease *l = model.things[i].lease;

        if (l && l->state != LEASE_WAITS && !inside_goes_on(NULL, l))
            keep(&k, &l->waiter);
    }
    return resource_counts(of->resource)
               ? k.amount && k.amount + of->amount > of->resource->capacity
               : k.conflicts;
}

/* Whether it is the first of a class that has the right to what it claims, when nothing
 * is before it. */
static bool has_right(const struct thing *t)
{
    const struct waiter *w = t->wants;
    const struct class *c = w->class;

    if (t->job && t->job == model.edited)
        return !condition_first(w) && lane_is_able(c->ready.lane);
    return class_first(c) == w &&
           (c->place == CLASS_READY || c->place == CLASS_BLOCKED) &&
           (lane_is_able(c->ready.lane) ||
            standing_is_reserved(model.core->parts.admit, w, waiting_now(model.core)));
}

static bool is_behind(const struct thing *t, const struct resource *r)
{
    for (size_t i = 0; i < model.nthings; i++) {
        const struct thing *x = &model.things[i];

        if (x != t && !x->gets && x->place->state == WAITER_LINE &&
            claim_on(x->wants, r) && x->wants->class != t->wants->class && has_right(x) &&
            admission_before(x->wants, t->wants))
            return true;
    }
    return false;
}

static bool gets(const struct thing *t)
{
    size_t n;

    if (t->wants->state == WAITER_NONE)
        return true;
    const struct claim *all = admission_claims(t->wants, &n);

    for (size_t i = 0; i < n; i++)
        if (!resource_is_rate(all[i].resource) &&
            (is_kept(&all[i]) || is_behind(t, all[i].resource)))
            return false;
    return true;
}

/* --- jobs -------------------------------------------------------------------------- */

static bool ends_as_whole(const struct thing *t)
{
    const struct job_key key = {.id = t->job->id, .index = JOB_NO_INDEX};

    for (size_t i = 0; i < t->n; i++)
        if (!at(t, i)->ends)
            return false;
    return jobs_done(t->job) || inside_goes_on(&key, NULL);
}

static bool has_begun_or_starts(const struct thing *t, int64_t offset)
{
    for (size_t i = 0; i < t->n; i++)
        if ((offset == NO_OFFSET || (size_t)offset == i) &&
            (!at(t, i)->queued || at(t, i)->starts))
            return true;
    return t->n == 0;
}

static bool job_ends(const struct job_key *key)
{
    const struct thing *t = find(key->id);

    if (!t)
        return true;
    if (key->index == JOB_NO_INDEX)
        return t->ends;
    if (!t->n || !t->job->array)
        return true;
    const int64_t offset = job_spec_offset(t->job->spec, key->index);
    return offset < 0 || at(t, (size_t)offset)->ends;
}

static bool edge_is_met(uint64_t id, enum job_after when, int64_t offset)
{
    const struct thing *of = find(id);

    if (!of || jobs_done(of->job))
        return true;
    if (when == JOB_AFTER_START)
        return has_begun_or_starts(of, offset);
    return offset == NO_OFFSET ? of->ends : at(of, (size_t)offset)->ends;
}

static bool edges_are_met(const struct job *job, size_t i)
{
    const struct each *each = job->elements ? job->elements->each : NULL;
    enum job_after when;

    for (const struct condition *c = condition_first(&job->waiter); c; c = c->next)
        if (condition_is(c, &condition_after)) {
            const uint64_t id = condition_after_of(c, &when);

            if (!edge_is_met(id, when, NO_OFFSET))
                return false;
        }
    for (size_t k = 0; each && k < each->nedges; k++) {
        const struct each_edge *e = &each->edges[k];

        if ((!e->entered || e->open[i / 64] >> i % 64 & 1) &&
            !array_own(job->array, (int64_t)i) &&
            !edge_is_met(e->antecedent, e->when, (int64_t)i))
            return false;
    }
    return true;
}

/* Of those that run at most so many do that never end. */
static bool limit_has_room(const struct thing *t)
{
    uint64_t stay = 0;

    if (!t->job->array || !t->job->spec->at_once)
        return true;
    for (size_t i = 0; i < t->n; i++)
        stay += !at(t, i)->queued && !at(t, i)->ends;
    return stay < t->job->spec->at_once;
}

static bool starts(const struct thing *t, size_t i)
{
    return (t->job != model.edited && !admission_waits(t->place)) ||
           (t->gets && limit_has_room(t) && edges_are_met(t->job, i));
}

static void mark(bool *known, bool so)
{
    model.changed |= so && !*known;
    *known |= so;
}

static void look_at_element(const struct thing *t, size_t i)
{
    struct element *e = at(t, i);
    struct job_key key = jobs_key(t->job, t->job->array ? (int64_t)i : NO_OFFSET);

    if (!e->starts)
        mark(&e->starts, !e->queued || starts(t, i));
    if (!e->ends)
        mark(&e->ends, e->done || (e->starts && inside_goes_on(&key, NULL)));
}

static void look_at(struct thing *t)
{
    if (!t->gets)
        mark(&t->gets, (t->job && jobs_done(t->job)) || gets(t));
    for (size_t i = 0; i < t->n; i++)
        look_at_element(t, i);
    if (t->job && !t->ends)
        mark(&t->ends, ends_as_whole(t));
}

static void solve(struct core *core, uid_t uid)
{
    begin(core, uid);
    do {
        model.changed = false;
        for (size_t i = 0; i < model.nthings; i++)
            look_at(&model.things[i]);
    } while (model.changed);
}

/* --- the questions ----------------------------------------------------------------- */

static bool compare(bool is_refused, bool goes_on, const char *what,
                    const struct volt_error *err)
{
    cover_note_circle(is_refused);
    if (is_refused)
        sim_trace("%s is refused: %s", what, err->text);
    if (is_refused && goes_on)
        sim_violation("%s is refused, and would go on: %s", what, err->text);
    if (!is_refused && !goes_on)
        sim_violation("%s would wait for ever, and is not refused", what);
    return is_refused;
}

bool __real_deadlock_of_lease(struct core *core, const struct lease *l,
                              struct volt_error *ret);
bool __wrap_deadlock_of_lease(struct core *core, const struct lease *l,
                              struct volt_error *ret)
{
    const bool is_refused = __real_deadlock_of_lease(core, l, ret);
    bool goes_on = true;

    if (!l->in_job.id && !l->in_lease)
        return is_refused;
    sim.outside++;
    model.edited = NULL;
    model.asking = NULL;
    solve(core, l->uid);
    for (size_t i = 0; i < model.nthings; i++)
        if (model.things[i].lease == l)
            goes_on = model.things[i].gets;
    sim.outside--;
    return compare(is_refused, goes_on, "a lease", ret);
}

bool __real_deadlock_of_wait(struct core *core, const struct inner_wait *n,
                             struct volt_error *ret);
bool __wrap_deadlock_of_wait(struct core *core, const struct inner_wait *n,
                             struct volt_error *ret)
{
    const bool is_refused = __real_deadlock_of_wait(core, n, ret);

    sim.outside++;
    model.edited = NULL;
    model.asking = n;
    (void)users_get(&core->users, n->uid);
    solve(core, n->uid);
    const bool goes_on = all_end(n);
    sim.outside--;
    return compare(is_refused, goes_on, "a call", ret);
}

bool __real_deadlock_of_edit(struct core *core, const struct job *job,
                             struct volt_error *ret);
bool __wrap_deadlock_of_edit(struct core *core, const struct job *job,
                             struct volt_error *ret)
{
    const bool is_refused = __real_deadlock_of_edit(core, job, ret);
    bool goes_on = true;

    sim.outside++;
    model.edited = job;
    model.asking = NULL;
    solve(core, job->owner.uid);
    const struct thing *t = find(job->id);
    for (size_t i = 0; i < t->n; i++)
        goes_on &= at(t, i)->starts;
    sim.outside--;
    return compare(is_refused, goes_on, "an edit", ret);
}

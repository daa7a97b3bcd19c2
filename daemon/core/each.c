/* See each.h. */
#include "daemon/core/each.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "daemon/admit/condition.h"
#include "daemon/core/state.h"

#define WORD(n)  ((n) / 64)
#define BIT(n)   (UINT64_C(1) << (n) % 64)
#define WORDS(n) BITS_WORDS(n)

static struct each *each_of(const struct job *job)
{
    return job->elements ? job->elements->each : NULL;
}

static bool has_bit(const uint64_t *words, uint64_t n)
{
    return words[WORD(n)] & BIT(n);
}

/* --- making and removing edges ------------------------------------------------------ */

static struct job *live_array(struct core *core, uint64_t id)
{
    struct job *job = table_get(&core->table, id);

    return job && job->elements ? job : NULL;
}

bool each_is_live(struct core *core, uid_t uid, uint64_t antecedent)
{
    const struct job *job = live_array(core, antecedent);

    return job && job->owner.uid == uid;
}

static int refuse(const struct job *job, const struct job_edge *edge, uint64_t total,
                  struct volt_error *err)
{
    if (total == job->array->total)
        return 0;
    if (!total)
        return error_set(err, -EINVAL,
                         "after: job %llu has no elements: element to element takes an "
                         "array with as many as this one, %llu",
                         (unsigned long long)edge->job,
                         (unsigned long long)job->array->total);
    return error_set(err, -EINVAL,
                     "after: job %llu has %llu elements, and not %llu as this one: "
                     "element to element takes as many",
                     (unsigned long long)edge->job, (unsigned long long)total,
                     (unsigned long long)job->array->total);
}

static int check_edge(struct core *core, const struct job *job,
                      const struct job_edge *edge, struct volt_error *err)
{
    const struct job *of = table_get(&core->table, edge->job);

    if (of && of->owner.uid != job->owner.uid)
        return 0; /* unknown to this user */
    if (of && of->elements && of->elements->followers.n >= EACH_FOLLOWERS)
        return error_set(err, -EINVAL,
                         "after: %d arrays wait for job %llu element to element, which "
                         "is all that may",
                         EACH_FOLLOWERS, (unsigned long long)edge->job);
    if (of)
        return refuse(job, edge, of->array ? of->array->total : 0, err);
    return edge->past ? refuse(job, edge, edge->past->total, err) : 0;
}

int each_check(struct core *core, const struct job *job, const struct job_spec *spec,
               struct volt_error *err)
{
    int r = 0;

    for (size_t i = 0; i < spec->nafter && r == 0; i++)
        if (spec->after[i].each && !spec->after[i].item)
            r = check_edge(core, job, &spec->after[i], err);
    return r;
}

static void link_to(struct each_edge *e, struct job *of)
{
    list_add_last(&of->elements->followers.list, &e->of);
    of->elements->followers.n++;
    e->linked = true;
}

static void unlink_from(struct core *core, struct each_edge *e)
{
    struct job *of = table_get(&core->table, e->antecedent);

    if (!e->linked)
        return;
    list_remove(&of->elements->followers.list, &e->of);
    of->elements->followers.n--;
    e->linked = false;
}

bool each_is_followed(const struct core *core, uint64_t antecedent)
{
    return condition_after_is_marked(core->parts.admit, antecedent);
}

static void unlist(struct core *core, struct each_edge *e)
{
    if (e->listed)
        list_remove(&core->each_due, &e->node);
    e->listed = false;
}

static void list_due(struct core *core, struct each_edge *e)
{
    if (!e->listed)
        list_add_last(&core->each_due, &e->node);
    e->listed = true;
}

static int await(struct core *core, struct each_edge *e, uint64_t id)
{
    const int r = condition_after_await(core->parts.admit, id);

    e->antecedent = id;
    e->awaited = r == 0;
    return r;
}

/* Ties the edge to its antecedent, if memory has its elements or the spec says how they
 * ended. Returns -EAGAIN: neither does. */
static int begin_edge(struct core *core, struct job *job, struct each_edge *e,
                      struct job_edge *edge)
{
    struct job *of = live_array(core, edge->job);
    int r;

    if (of && of->owner.uid != job->owner.uid)
        of = NULL;
    if (!of && !edge->past && edge->result != JOB_RESULT_SUCCESS)
        return -EAGAIN;
    r = await(core, e, edge->job);
    if (r < 0)
        return r;
    if (of ? of->array->total != job->array->total
           : edge->past && edge->past->total != job->array->total) {
        e->all = JOB_RESULT_LOST << 1; /* no longer the array that was meant */
    } else if (of) {
        link_to(e, of);
    } else {
        e->all = (uint8_t)(edge->result << 1 | edge->started);
        e->past = edge->past;
        edge->past = NULL;
    }
    return 0;
}

static size_t count_edges(const struct job_spec *spec)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->nafter; i++)
        n += spec->after[i].each && !spec->after[i].unknown;
    return n;
}

int each_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    const size_t n = count_edges(spec);
    size_t k = 0;
    int r = 0;

    if (n == 0 || (job->recovered && !job->array->rest))
        return 0;
    struct each *each = job->elements->each = each_new(job->array->total, n);
    if (!each)
        return -ENOMEM;
    for (size_t i = 0; i < spec->nafter && r == 0; i++) {
        if (!spec->after[i].each || spec->after[i].unknown)
            continue;
        each->edges[k].job = job;
        each->edges[k].when = spec->after[i].when;
        if (!spec->after[i].item)
            r = begin_edge(core, job, &each->edges[k], &spec->after[i]);
        k++;
    }
    if (r < 0)
        each_forget(core, job);
    return r;
}

int each_bind(struct core *core, struct job *job, struct job_spec *spec, size_t at,
              bool is_new)
{
    struct each_edge *e = each_of(job)->edges;

    for (size_t i = 0; i < at; i++)
        e += spec->after[i].each && !spec->after[i].unknown;
    return is_new ? await(core, e, spec->after[at].job)
                  : begin_edge(core, job, e, &spec->after[at]);
}

/* Returns the antecedent in memory. NULL: the edge knows how it ended. */
static struct job *live_antecedent(struct core *core, const struct each_edge *e)
{
    return e->past || e->all ? NULL : live_array(core, e->antecedent);
}

/* Enters an edge. An antecedent of the same submission is in the table by now, unless
 * memory was short. */
static void enter_edge(struct core *core, struct each_edge *e, uint64_t total)
{
    struct job *of = e->linked ? NULL : live_antecedent(core, e);

    if (of)
        link_to(e, of);
    e->entered = true;
    memset(e->due, 0xff, WORD(total) * sizeof(*e->due));
    if (total % 64)
        e->due[WORD(total)] = BIT(total) - 1;
    memcpy(e->open, e->due, WORDS(total) * sizeof(*e->open));
    list_due(core, e);
}

void each_enter(struct core *core, struct job *job)
{
    struct each *each = each_of(job);

    if (!each)
        return;
    const uint64_t total = job->array->total;
    for (uint64_t i = 0; i < total; i++)
        each->unmet[i] = (uint16_t)each->nedges;
    for (size_t i = 0; i < each->nedges; i++)
        enter_edge(core, &each->edges[i], total);
}

void each_take(struct core *core, struct job *job, struct job *next, uint64_t now)
{
    struct each *had = each_of(job), *each = each_of(next);
    struct condition *c = condition_find(&job->waiter, &condition_elements);

    if (c) /* belongs to `had` */
        condition_met(core->parts.admit, c, now);
    next->elements->each = had;
    job->elements->each = each;
    for (size_t i = 0; each && i < each->nedges; i++)
        each->edges[i].job = job;
    each_enter(core, job);
}

static void end_edge(struct core *core, struct each_edge *e)
{
    unlink_from(core, e);
    unlist(core, e);
    if (e->awaited)
        condition_after_await_no_more(core->parts.admit, e->antecedent);
    e->awaited = false;
}

static void end_all(struct core *core, struct each *each)
{
    for (size_t i = 0; i < each->nedges; i++)
        end_edge(core, &each->edges[i]);
}

void each_forget(struct core *core, struct job *job)
{
    struct each *each = each_of(job);

    if (!each)
        return;
    end_all(core, each);
    job->elements->each = NULL;
    each_free(each);
}

/* --- ready elements ----------------------------------------------------------------- */

uint64_t each_rest(const struct job *job)
{
    const struct each *each = each_of(job);

    return each ? each->ready : job->array->rest;
}

int64_t each_next(struct job *job)
{
    struct each *each = each_of(job);

    if (!each)
        return array_next(job->array);
    if (!each->ready)
        return ARRAY_WHOLE;
    while (!each->is_ready[each->first])
        each->first++;
    return (int64_t)(64 * each->first) + __builtin_ctzll(each->is_ready[each->first]);
}

void each_settle(struct core *core, struct job *job, uint64_t now)
{
    struct each *each = each_of(job);

    if (!each || job->waiter.state == WAITER_NONE || !jobs_takes(job))
        return;
    const bool wants = each->ready || job->elements->nwaiting || !job->array->rest;
    struct condition *c = condition_find(&job->waiter, &condition_elements);

    if (c && wants)
        condition_met(core->parts.admit, c, now);
    else if (!c && !wants && each->home)
        condition_elements_add(core->parts.admit, &job->waiter, &each->home,
                               each->edges[0].antecedent, each->edges[0].when);
}

static void mark_ready(struct each *each, uint64_t offset)
{
    each->is_ready[WORD(offset)] |= BIT(offset);
    each->ready++;
    if (WORD(offset) < each->first)
        each->first = WORD(offset);
}

/* Takes an element that left the rest out of the ready ones. */
static void leave(struct each *each, uint64_t offset)
{
    if (!has_bit(each->is_ready, offset))
        return;
    each->is_ready[WORD(offset)] &= ~BIT(offset);
    each->ready--;
}

static bool is_in_rest(const struct job *job, uint64_t offset)
{
    return job->array->rest && !array_own(job->array, (int64_t)offset);
}

/* --- edges to look at --------------------------------------------------------------- */

static void note(struct core *core, struct each_edge *e, uint64_t offset)
{
    if (!has_bit(e->open, offset))
        return;
    e->due[WORD(offset)] |= BIT(offset);
    if (WORD(offset) < e->at)
        e->at = WORD(offset);
    list_due(core, e);
}

static void note_all(struct core *core, struct each_edge *e, uint64_t total)
{
    if (!e->entered)
        return;
    memcpy(e->due, e->open, WORDS(total) * sizeof(*e->due));
    e->at = 0;
    list_due(core, e);
}

static void follow_own(struct core *core, struct job *job, int64_t item)
{
    struct each *each = each_of(job);

    if (item != ARRAY_WHOLE)
        leave(each, (uint64_t)item);
    if (job->array->rest)
        return;
    each->ready = 0;
    end_all(core, each);
}

/* Returns whether the event may decide an edge: an element started or ended, or the
 * rest. */
static bool may_decide(const struct array *a, int64_t item)
{
    const struct job_status *st = item == ARRAY_WHOLE ? NULL : array_own(a, item);

    return st ? st->has_started || st->state == JOB_DONE : a->cancelled_usec != 0;
}

void each_follow(struct core *core, struct job *job, int64_t item)
{
    struct list_node *n = job->elements && may_decide(job->array, item)
                              ? job->elements->followers.list.first
                              : NULL;

    for (; n; n = n->next) {
        struct each_edge *e = list_thing(n, struct each_edge, of);

        core_did(core, 1, 0, 0);
        if (item == ARRAY_WHOLE)
            note_all(core, e, job->array->total);
        else
            note(core, e, (uint64_t)item);
    }
    if (each_of(job))
        follow_own(core, job, item);
}

/* Ends the looks at an edge for now. An ended antecedent decides nothing more, and may
 * leave memory. */
static void all_looked_at(struct core *core, struct each_edge *e)
{
    const struct job *of = e->linked ? live_array(core, e->antecedent) : NULL;

    unlist(core, e);
    if (of && jobs_done(of))
        unlink_from(core, e);
}

struct each_edge *each_next_due(struct core *core, unsigned *budget,
                                uint64_t *ret_offset)
{
    while (core->each_due.first && *budget > 0) {
        struct each_edge *e = list_thing(core->each_due.first, struct each_edge, node);
        const uint64_t words = WORDS(e->job->array->total);

        while (e->at < words && !e->due[e->at] && *budget > 0) {
            e->at++;
            --*budget;
        }
        if (e->at == words) {
            all_looked_at(core, e);
            continue;
        }
        if (!e->due[e->at])
            break;
        --*budget;
        *ret_offset = 64 * e->at + (uint64_t)__builtin_ctzll(e->due[e->at]);
        e->due[e->at] &= e->due[e->at] - 1;
        return e;
    }
    return NULL;
}

bool each_is_due(const struct core *core)
{
    return core->each_due.first;
}

void each_put_back(struct core *core, struct each_edge *edge, uint64_t offset)
{
    note(core, edge, offset);
}

void each_status(struct core *core, const struct each_edge *edge, uint64_t offset,
                 bool *ret_started, enum job_result *ret_result)
{
    const struct job *of = live_antecedent(core, edge);
    uint8_t was = edge->all;

    if (of) {
        const struct job_status st = array_element(of->array, (int64_t)offset);

        *ret_started = st.has_started;
        *ret_result = st.state == JOB_DONE ? (enum job_result)st.result : JOB_RESULT_NONE;
        return;
    }
    if (edge->past && edge->past->n)
        was = edge->past->of[offset];
    *ret_started = was & 1;
    *ret_result = (enum job_result)(was >> 1);
}

bool each_decide(struct each_edge *edge, uint64_t offset, bool met)
{
    struct each *each = each_of(edge->job);

    edge->open[WORD(offset)] &= ~BIT(offset);
    if (!met || --each->unmet[offset] > 0 || !is_in_rest(edge->job, offset))
        return false;
    mark_ready(each, offset);
    return true;
}

int64_t each_waiting(const struct each_edge *edge, int64_t from, int64_t end,
                     unsigned *looks)
{
    int64_t at = from;

    while (at < end && *looks) {
        const uint64_t word = edge->entered ? edge->open[WORD((uint64_t)at)] : UINT64_MAX;

        --*looks;
        if (!word) /* no bit is left in this word */
            at |= 63;
        else if (word & BIT((uint64_t)at) && is_in_rest(edge->job, (uint64_t)at))
            return at;
        at++;
    }
    return ARRAY_WHOLE;
}

const struct each_edge *each_unmet(const struct job *job, uint64_t offset)
{
    const struct each *each = each_of(job);

    if (!each || !is_in_rest(job, offset))
        return NULL;
    for (size_t i = 0; i < each->nedges; i++)
        if (has_bit(each->edges[i].open, offset))
            return &each->edges[i];
    return NULL;
}

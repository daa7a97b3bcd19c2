/* What jobs that wait for others may do, by the facts of these. */
#include <stdlib.h>

#include "daemon/job/spec_edit.h"
#include "tests/sim/disk.h"
#include "tests/sim/sim.h"

/* Not job_after_is_met(): an oracle that asks the daemon makes its mistakes. */
static bool is_met(const struct job_edge *e, int64_t at)
{
    const enum job_result result = oracle_ended_as(e->job, e->each ? at : -1);

    switch (e->when) {
    case JOB_AFTER_OK:
        return result == JOB_RESULT_SUCCESS;
    case JOB_AFTER_NOTOK:
        return result != JOB_RESULT_NONE && result != JOB_RESULT_SUCCESS;
    case JOB_AFTER_ANY:
        return result != JOB_RESULT_NONE;
    case JOB_AFTER_START:
        break;
    }
    return oracle_may_have_started(e->job, e->each ? at : -1);
}

/* An array that has left the store, the elements of which a restart cannot know any more:
 * they count as lost (volt-job(5), after). */
static bool is_gone(const struct job_edge *e)
{
    return e->each && !image_has(e->job);
}

/* It has ended, and the edge is not met; of a start nobody may know here. */
static bool is_vain(const struct job_edge *e, int64_t at)
{
    return (at >= 0 || !e->each) &&
           oracle_ended_as(e->job, e->each ? at : -1) != JOB_RESULT_NONE &&
           (e->when == JOB_AFTER_START || !is_met(e, at));
}

bool edges_known(const struct order *o)
{
    for (uint32_t i = 0; i < o->nafter; i++)
        if (!o->after[i].job)
            return false;
    return true;
}

/* What replaces an earlier job of its order waits for the same jobs as that one, which may
 * still be there. */
bool edges_by_key(const struct order *o, size_t i)
{
    return o->after_key[i] && !(o->after[i].job && o->replaces);
}

/* What it waits for of its own batch is durable, as that order's job, before it is. */
bool edges_submit(struct order *o, const struct job_spec *spec)
{
    if (spec->nafter != o->nafter)
        return false;
    for (uint32_t i = 0; i < o->nafter; i++) {
        const uint64_t job = spec->after[i].job;
        const struct order *of = oracle_order_of_id(job);

        if (o->after[i].item && (!of || of->number + 1 != o->after[i].item))
            return false;
        if (o->after_key[i] && (!of || !of->key_given || of->uid != o->uid ||
                                of->key + 1 != o->after_key[i]))
            return false;
        if (o->after[i].item || edges_by_key(o, i))
            o->after[i].job = job;
        if (o->after[i].job != job || o->after[i].when != spec->after[i].when ||
            o->after[i].each != spec->after[i].each)
            return false;
    }
    return true;
}

void edges_start(uint64_t id, int64_t at)
{
    uint32_t n;
    const struct job_edge *after = edits_after(id, &n);

    for (uint32_t i = 0; i < n; i++)
        if (!is_met(&after[i], at) && !is_gone(&after[i]))
            sim_violation("job %llu starts, and job %llu has not done what it had to",
                          (unsigned long long)id, (unsigned long long)after[i].job);
}

void edges_fact(uint64_t id, int64_t at, const struct job_event *e)
{
    uint32_t i = 0, n;
    const struct job_edge *after = edits_after(id, &n);

    while (i < n &&
           (after[i].job != e->antecedent ||
            !(is_gone(&after[i]) ||
              (e->type == JOB_EV_MET ? is_met(&after[i], at) : is_vain(&after[i], at)))))
        i++;
    if (i == n)
        sim_violation("job %llu: %s for job %llu, of which that is not so",
                      (unsigned long long)id, job_event_name(e->type),
                      (unsigned long long)e->antecedent);
}

/* Also of jobs that wait for that one, or come behind it: an edit can make circles. */
uint64_t edges_choose(struct job_spec *s, uint64_t id)
{
    const struct order *o = oracle_order_of_id(id);
    const size_t most = sim_below(ORACLE_EDGES + 1);

    s->after = calloc(ORACLE_EDGES, sizeof(*s->after));
    for (int tries = 0; tries < 9 && s->nafter < most; tries++) {
        const struct order *p = oracle_order(sim_below(oracle_orders()));

        if (!p->id || p->uid != o->uid)
            continue;
        s->after[s->nafter++] =
            (struct job_edge){.job = p->id,
                              .when = (enum job_after)sim_below(JOB_AFTER_START + 1),
                              .each = o->count && o->count == p->count && sim_one_in(2)};
    }
    return TAGS_OF_AFTER;
}

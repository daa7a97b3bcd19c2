/* See dependencies.h. */
#include "daemon/core/dependencies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "daemon/admit/condition.h"
#include "daemon/core/element_edges.h"
#include "daemon/core/state.h"

/* --- edges met before a restart ----------------------------------------------------- */

int dependencies_replay(struct core *core, const struct job *job,
                        const struct job_event *ev)
{
    struct met_edges *met = &core->met;

    if (!(met->n & (met->n + 1))) { /* may be full: n is 2^k - 1 */
        struct met_edge *grown =
            reallocarray(met->all, 2 * (met->n + 1), sizeof(*met->all));
        if (!grown)
            return -ENOMEM;
        met->all = grown;
    }
    met->all[met->n++] = (struct met_edge){job->id, ev->antecedent, ev->when};
    return 0;
}

void dependencies_forget(struct core *core)
{
    free(core->met.all);
    core->met = (struct met_edges){.n = 0};
}

bool dependencies_was_met(struct core *core, const struct job *job,
                          const struct job_edge *edge)
{
    struct met_edges *met = &core->met;

    while (met->at < met->n && met->all[met->at].job < job->id)
        met->at++;
    for (size_t i = met->at; i < met->n && met->all[i].job == job->id; i++)
        if (met->all[i].antecedent == edge->job && met->all[i].when == edge->when)
            return true;
    return false;
}

/* --- edges -------------------------------------------------------------------------- */

void dependencies_find_keys(struct core *core, uid_t uid, struct job_spec *spec,
                            bool forgets)
{
    for (size_t i = 0; i < spec->nafter; i++) {
        struct job_edge *edge = &spec->after[i];
        const struct keys_entry *e =
            edge->key && !edge->job
                ? keys_find(&core->keys, keys_name(&core->keys, uid, edge->key))
                : NULL;

        if (!e || !e->id)
            continue;
        edge->job = e->id;
        if (!forgets)
            continue;
        free(edge->key);
        edge->key = NULL;
    }
}

int dependencies_unknown(const struct job_edge *edge, struct volt_error *ret)
{
    if (!edge->job)
        return error_set(ret, -ENOENT, "after: none of your jobs has the key \"%.200s\"",
                         edge->key);
    return error_set(ret, -ENOENT, "after: job %llu is not known",
                     (unsigned long long)edge->job);
}

int dependencies_lose(struct job_edge *edge)
{
    edge->result = JOB_RESULT_LOST;
    if (edge->each)
        edge->past = past_elements_new(0, 0);
    return edge->each && !edge->past ? -ENOMEM : 0;
}

/* Returns how the job, or the array as a whole, has ended. NONE: it has not. */
static enum job_result result_of(const struct job *job)
{
    if (!jobs_done(job))
        return JOB_RESULT_NONE;
    return (enum job_result)(job->array ? job->array->worst.result : job->status.result);
}

static bool has_started(const struct job *job)
{
    return job->array ? job->array->started_usec : job->status.has_started;
}

bool dependencies_look(struct core *core, uid_t uid, struct job_edge *edge)
{
    const struct job *job = table_get(&core->table, edge->job);

    if (!job || job->owner.uid != uid)
        return false;
    edge->learned = true;
    edge->started = has_started(job);
    edge->result = result_of(job);
    return true;
}

int dependencies_add(struct core *core, struct job *job, const struct job_edge *edge)
{
    int r = job->waiter.state == WAITER_NONE ? waiting_assign_again(core, job) : 0;

    if (r == 0)
        r = condition_after_add(core->parts.admit, &job->waiter, edge->job, edge->when);
    if (r < 0)
        return r;
    if (edge->started)
        condition_after_started(core->parts.admit, edge->job);
    if (edge->result)
        condition_after_ended(core->parts.admit, edge->job, edge->result);
    return 0;
}

static bool is_met(const struct job_edge *edge)
{
    return job_after_is_met(edge->when, edge->started, edge->result);
}

/* Returns whether the edge is met and needs no fact, as the stored spec says so. A
 * recovered job that has just learned of the antecedent's end needs the fact. */
static bool is_kept(const struct job *job, const struct job_edge *edge)
{
    return is_met(edge) && !(job->recovered && edge->learned);
}

int dependencies_begin_one(struct core *core, struct job *job, struct job_edge *edge)
{
    core_did(core, 1, 0, 0);
    if (edge->unknown || is_kept(job, edge) || dependencies_was_met(core, job, edge))
        return 0;
    if (!dependencies_look(core, job->owner.uid, edge) && !edge->result)
        return -EAGAIN;
    return is_kept(job, edge) ? 0 : dependencies_add(core, job, edge);
}

int dependencies_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    int r = 0;

    for (size_t i = 0; i < spec->nafter && r == 0; i++)
        if (!spec->after[i].item && !spec->after[i].each)
            r = dependencies_begin_one(core, job, &spec->after[i]);
    return r;
}

const struct job_edge *dependencies_vain(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->nafter; i++)
        if (spec->after[i].result && !spec->after[i].each && !is_met(&spec->after[i]))
            return &spec->after[i];
    return NULL;
}

bool dependencies_is_awaited(const struct core *core, uint64_t antecedent)
{
    return condition_after_is_awaited(core->parts.admit, antecedent);
}

void dependencies_follow(struct core *core, const struct job *job)
{
    const enum job_result result = result_of(job);

    if (has_started(job))
        condition_after_started(core->parts.admit, job->id);
    if (result)
        condition_after_ended(core->parts.admit, job->id, result);
}

/* Jobs that wait for others of the same submission.
 *
 * Their items come after their antecedents' items. The ids of antecedents are known once
 * ids are taken, or earlier where a key stands for an earlier job. The edges are made
 * then, before anything is appended: all facts go in one group, so no job is durable
 * without its antecedents. The hash of a key for such a spec is made again with the ids,
 * as the next start makes it from the stored spec. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/core/dependencies.h"
#include "daemon/core/each.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/query/past_edges.h"
#include "daemon/query/query.h"
#include "daemon/submit/submission.h"

/* Looks up antecedents that are earlier jobs, maybe only in the store. One that was
 * purged after its key was looked up is lost. */
static int look_at_past(struct volt_cx *cx, struct jobs_submit *s, struct job_spec *spec,
                        size_t at)
{
    int r;

    do {
        r = past_edges_look(cx, s->core, &s->owner, spec, &at, s->quota);
        if (r == -ENOENT && dependencies_lose(&spec->after[at]) < 0)
            return -ENOMEM;
    } while (r == -ENOENT);
    return r;
}

static int bind_edge(struct volt_cx *cx, struct jobs_submit *s, struct job *job,
                     struct job_spec *spec, size_t at)
{
    const struct submission *p = s->pending;
    struct job_edge *edge = &spec->after[at];
    const bool is_new = p->jobs[edge->item - 1];
    int r;

    edge->job = p->ids[edge->item - 1];
    edge->item = 0;
    do {
        r = is_new ? 0 : look_at_past(cx, s, spec, at);
        if (r < 0)
            return r;
        core_lock(s->core);
        r = edge->each ? each_bind(s->core, job, spec, at, is_new)
            : is_new   ? dependencies_add(s->core, job, edge)
                       : dependencies_begin_one(s->core, job, edge);
        core_unlock(s->core);
    } while (r == -EAGAIN);
    return r;
}

/* Sets the id of the next item's job, and the ids in its edges. */
static int bind_item(struct volt_cx *cx, struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    struct job *job = p->jobs[i];
    struct job_spec *spec = s->items[i].spec;
    int r = 0;

    p->ids[i] = job ? p->bound_id++ : p->same ? p->same[i] : 0;
    if (!job || !submission_binds(spec))
        return 0;
    for (size_t k = 0; k < spec->nafter && r == 0; k++)
        if (spec->after[k].item)
            r = bind_edge(cx, s, job, spec, k);
    quota_charge(s->quota, spec->nafter, 0, 0);
    if (r == 0 && job->claimed)
        r = claim_rehash(s, i);
    if (r == 0 && job_waits_bare(job))
        (void)job_slumber(s->core, job); /* without memory it stays unpacked */
    return r;
}

/* Entries that a turn has left when SUBMIT_EDGES were looked at. A pass that ended in
 * this turn may have left fewer: then the edges are for the next turn. */
#define BEHIND (QUOTA_ENTRIES - SUBMIT_SLICE - SUBMIT_EDGES)

static int begin(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    p->ids = calloc(s->count, sizeof(*p->ids));
    p->bound_id = p->first_id;
    p->at = 0;
    return p->ids ? 0 : -ENOMEM;
}

enum volt_poll bind_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;
    size_t n = submission_portion(s, s->count - (p->ids ? p->at : 0));

    p->bind_error = p->ids ? 0 : begin(s);
    p->bodies.bytes = 0;
    while (p->bind_error == 0 && n-- > 0 && quota_entries_left(s->quota) > BEHIND &&
           p->bodies.bytes < CLAIM_BYTES)
        p->bind_error = bind_item(cx, s, p->at++);
    if (p->bind_error < 0 || p->at == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

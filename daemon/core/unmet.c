/* See unmet.h. */
#include "daemon/core/unmet.h"

#include "daemon/admit/condition.h"
#include "daemon/core/element_edges.h"
#include "daemon/core/elements.h"
#include "daemon/core/jobs.h"

void unmet_begin(struct unmet_edges *u, const struct job *job)
{
    *u = (struct unmet_edges){
        .condition = condition_first(&job->waiter),
        .each = job->elements && job->array->rest ? job->elements->each : NULL};
}

static bool next_of_whole(struct unmet_edges *u, struct unmet_edge *ret)
{
    while (u->condition) {
        const struct condition *c = u->condition;

        u->condition = c->next;
        if (!condition_is(c, &condition_after))
            continue;
        ret->antecedent = condition_after_of(c, &ret->when);
        ret->each = NULL;
        return true;
    }
    return false;
}

bool unmet_next(struct unmet_edges *u, struct unmet_edge *ret)
{
    if (next_of_whole(u, ret))
        return true;
    if (!u->each || u->at == u->each->nedges)
        return false;
    const struct each_edge *e = &u->each->edges[u->at++];
    *ret = (struct unmet_edge){e->antecedent, e->when, e};
    return true;
}

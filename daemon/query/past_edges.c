/* See past_edges.h. */
#include "daemon/query/past_edges.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/core/dependencies.h"
#include "daemon/core/each.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/query/expand.h"
#include "daemon/query/query.h"

static bool is_live(struct core *core, uid_t uid, struct job_edge edge)
{
    core_lock(core);
    bool live = dependencies_look(core, uid, &edge);
    core_did(core, 1, 0, 0);
    core_unlock(core);
    return live;
}

/* Returns whether the elements need not be read: memory has them, they have been read, or
 * all ended alike. */
static bool knows_elements(struct core *core, uid_t uid, const struct job_edge *edge)
{
    if (edge->past || edge->result == JOB_RESULT_SUCCESS)
        return true;
    core_lock(core);
    const bool live = each_is_live(core, uid, edge->job);
    core_did(core, 1, 0, 0);
    core_unlock(core);
    return live;
}

static bool is_known(struct core *core, uid_t uid, const struct job_edge *edge)
{
    if (edge->each)
        return knows_elements(core, uid, edge);
    return edge->result || is_live(core, uid, *edge);
}

/* Reads the ends of the elements; elements that the store lacks are lost. -ENOENT: the
 * array is being purged. */
static int read_elements(struct volt_cx *cx, struct core *core,
                         const struct job_owner *owner, const struct job_view *array,
                         struct past_elements *past, struct quota *quota)
{
    static const struct job_filter all;
    struct expansion *e = calloc(1, sizeof(*e));
    size_t found = 0;
    int r = e ? 0 : -ENOMEM;

    if (!e)
        return r;
    do {
        *e = (struct expansion){.core = core,
                                .asker = auth_user(owner->uid),
                                .cx = cx,
                                .kept = true,
                                .f = &all,
                                .id = array->key.id,
                                .spec = array->spec,
                                .within = e->within,
                                .index = e->index,
                                .most = JOBS_SLICE};
        r = expand_portion(e);
        for (size_t i = 0; i < e->n; i++) {
            const struct job_view *v = &e->views[i];
            const int64_t at = job_spec_offset(array->spec, v->key.index);

            past->of[at] = (uint8_t)(v->status.result << 1 | job_has_begun(&v->status));
            job_view_fini(&e->views[i]);
        }
        found += e->n;
    } while (r == 0 && !e->end);
    free(e);
    quota_charge(quota, found * QUERY_KEPT_COST, 0, 0);
    return r == 0 && !found ? -ENOENT : r;
}

static int look_at_elements(struct volt_cx *cx, struct core *core,
                            const struct job_owner *owner, const struct job_view *v,
                            struct job_edge *edge, struct quota *quota)
{
    const bool is_array = v->spec && v->spec->is_array;
    const uint64_t total = is_array ? job_spec_count(v->spec) : 0;
    const bool alike = v->status.result == JOB_RESULT_SUCCESS;

    edge->past = past_elements_new(total, alike ? 0 : total);
    if (!edge->past)
        return -ENOMEM;
    return alike || !total ? 0 : read_elements(cx, core, owner, v, edge->past, quota);
}

static int look(struct volt_cx *cx, struct core *core, const struct job_owner *owner,
                struct job_edge *edge, struct quota *quota)
{
    const struct asker asker = auth_user(owner->uid);
    struct job_view view;

    edge->learned = true;
    int r = query_look(cx, core, &asker, edge->job, JOB_NO_INDEX, &view);

    if (r < 0)
        return r;
    if (view.orphan || view.owner.uid != owner->uid)
        r = -ENOENT;
    edge->started =
        view.forgotten ? job_has_begun(&view.status) : view.status.has_started;
    edge->result = (enum job_result)view.status.result;
    if (r == 0 && edge->each)
        r = look_at_elements(cx, core, owner, &view, edge, quota);
    job_view_fini(&view);
    return r;
}

int past_edges_look(struct volt_cx *cx, struct core *core, const struct job_owner *owner,
                    struct job_spec *spec, size_t *at, struct quota *quota)
{
    int r = 0;

    for (; *at < spec->nafter && r == 0; *at += r == 0) {
        struct job_edge *edge = &spec->after[*at];

        if (edge->item || edge->unknown || is_known(core, owner->uid, edge))
            continue;
        r = look(cx, core, owner, edge, quota);
        quota_charge(quota, QUERY_KEPT_COST, 0, 0);
    }
    return r;
}

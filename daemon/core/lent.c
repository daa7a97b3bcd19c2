/* See lent.h. */
#include "daemon/core/lent.h"

#include "daemon/core/state.h"

/* Returns the work of the job, or of the element. NULL: none. */
static struct work *work_of(const struct job *job, int64_t index)
{
    if (index == JOB_NO_INDEX)
        return job->array ? NULL : job->live;
    if (!job->array || array_is_counts(job->array))
        return NULL;
    const int64_t offset = job_spec_offset(job->spec, index);
    return offset < 0 ? NULL : jobs_live(job, offset);
}

struct work *lent_find(struct core *core, uid_t uid, const struct job_key *key)
{
    const struct job *job = table_get(&core->table, key->id);

    if (!job || job->owner.uid != uid || !jobs_is_process(job))
        return NULL;
    struct work *w = work_of(job, key->index);
    if (!w)
        return NULL;
    const struct job_status st = jobs_any_status(job, w->offset);
    const bool has_ended = st.state == JOB_QUEUED || st.state == JOB_DONE;
    return has_ended || !work_has_slot(w) ? NULL : w;
}

static void lend(struct core *core, struct work *w)
{
    w->lends = true;
    core->counts.slots_lent++;
    admission_lend(core->parts.admit, &w->job->waiter, waiting_now(core));
}

static bool take_back(struct core *core, struct work *w)
{
    if (!w->lends)
        return false;
    w->lends = false;
    core->counts.slots_lent--;
    admission_take_back(core->parts.admit, &w->job->waiter, waiting_now(core));
    return true;
}

void lent_add(struct core *core, struct work *w, struct lending *l)
{
    l->work = w;
    list_add_last(&w->inside, &l->node);
    if (!w->lends)
        lend(core, w);
}

bool lent_remove(struct core *core, struct lending *l)
{
    struct work *w = l->work;

    if (!w)
        return false;
    l->work = NULL;
    list_remove(&w->inside, &l->node);
    return list_is_empty(&w->inside) && take_back(core, w);
}

void lent_over(struct core *core, struct work *w)
{
    struct list_node *n;

    while ((n = list_take_first(&w->inside)))
        list_thing(n, struct lending, node)->work = NULL;
    (void)take_back(core, w);
}

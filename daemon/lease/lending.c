/* See lending.h. */
#include "daemon/lease/lending.h"

#include <errno.h>

#include "daemon/admit/admission.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/core/work.h"
#include "daemon/dispatch/dispatch.h"

void lending_begin(struct core *core, uid_t uid, const struct job_key *inside,
                   struct lending *l)
{
    struct tx tx;

    if (!inside->id || l->named)
        return;
    l->named = true;
    core_begin(&tx, core);
    struct work *w = lent_find(core, uid, inside);
    if (w)
        lent_add(core, w, l);
    dispatch_finish(&tx);
}

static bool is_above(struct admission_counts c)
{
    return c.used > c.slots;
}

void lending_end(struct core *core, struct lending *l)
{
    struct tx tx;

    if (!l->named)
        return;
    l->named = false;
    core_begin(&tx, core);
    if (lent_remove(core, l) && is_above(admission_count(parts_of(core)->admit)))
        parts_of(core)->counts->slots_over++;
    dispatch_finish(&tx);
}

int lending_begin_wait(struct core *core, struct inner_wait *n, struct lending *l,
                       struct quota *quota, struct volt_error *err)
{
    if (n->listed || (!n->in_job.id && !n->in_lease))
        return 0;
    core_lock(core);
    core_charge(core, quota);
    const bool for_ever = deadlock_of_wait(core, n, err);
    if (!for_ever)
        inner_wait_add(core, n);
    core_unlock(core);
    if (for_ever)
        return -EDEADLK;
    lending_begin(core, n->uid, &n->in_job, l);
    return 0;
}

void lending_end_wait(struct core *core, struct inner_wait *n, struct lending *l)
{
    if (n->listed) {
        core_lock(core);
        inner_wait_remove(core, n);
        core_unlock(core);
    }
    lending_end(core, l);
}

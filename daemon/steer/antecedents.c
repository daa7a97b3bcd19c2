/* Looks up the jobs that an edit adds to `after`: steer.h. */
#include <errno.h>

#include "base/error.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/tx.h"
#include "daemon/query/past_edges.h"
#include "daemon/query/query.h"
#include "daemon/steer/steer.h"

int steer_look_at_after(struct volt_cx *cx, struct core *core,
                        const struct job_owner *owner, struct job_spec *changes,
                        struct quota *quota, struct volt_error *err)
{
    size_t at = 0;

    core_lock(core);
    core_charge(core, quota);
    dependencies_find_keys(core, owner->uid, changes, true);
    core_did(core, changes->nafter, 0, 0);
    core_unlock(core);
    int r = past_edges_look(cx, core, owner, changes, &at, quota);
    if (r == -ENOENT) {
        (void)dependencies_unknown(&changes->after[at], err);
        return -EINVAL;
    }
    if (r < 0 && r != -ENOMEM)
        return error_set(err, -EINVAL, "after: how job %llu ended cannot be read",
                         (unsigned long long)changes->after[at].job);
    return r;
}

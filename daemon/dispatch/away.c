/* See away.h. */
#include "daemon/dispatch/away.h"

#include "daemon/admit/admission.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/dispatch.h"

int away_set(struct core *core, uid_t uid, bool away)
{
    struct tx tx;

    core_begin(&tx, core);
    const int r = admission_set_away(parts_of(core)->admit, uid, away);
    dispatch_finish(&tx);
    return r;
}

bool away_is_missed(struct core *core, uid_t uid)
{
    core_lock(core);
    const bool missed = admission_has_waiters(parts_of(core)->admit, uid);
    core_unlock(core);
    return missed;
}

bool away_take(struct core *core, uid_t *ret_uid)
{
    core_lock(core);
    const bool taken = admission_take_missed(parts_of(core)->admit, ret_uid);
    core_unlock(core);
    return taken;
}

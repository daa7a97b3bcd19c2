/* Sets the size of semaphores by hand: steer.h. */
#include "daemon/core/claims.h"
#include "daemon/core/parts.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/steer/steer.h"

int steer_resize(struct core *core, const struct asker *asker, const char *name,
                 uint64_t capacity, struct store_commit *commit, bool *ret_made)
{
    struct tx tx;

    *ret_made = false;
    core_begin(&tx, core);
    int r = capacity
                ? claims_resize(&tx, asker->who.uid, name, capacity, commit, ret_made)
                : claims_reset(&tx, asker->who.uid, name, commit);
    dispatch_finish(&tx);
    return r;
}

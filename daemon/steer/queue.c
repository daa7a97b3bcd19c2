/* Changes queues by hand: steer.h. */
#include "daemon/core/parts.h"
#include "daemon/core/queues.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/steer/steer.h"

int steer_queue(struct core *core, const char *name, struct queue_change *change,
                struct store_commit *commit)
{
    struct tx tx;

    core_begin(&tx, core);
    int r = queues_change(&tx, name, change, commit);
    dispatch_finish(&tx);
    return r;
}

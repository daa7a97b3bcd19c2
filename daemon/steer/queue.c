/* Queues, changed by hand: steer.h. */
#include "daemon/core/parts.h"
#include "daemon/core/queues.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/chain.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/steer/steer.h"

/* Works that follow another are called back, as when the configuration changes: they
 * could begin in a queue that starts nothing, or beyond its slots. */
int steer_queue(struct core *core, const char *name, struct queue_change *change,
                struct store_commit *commit)
{
    struct tx tx;

    core_begin(&tx, core);
    int r = queues_change(&tx, name, change, commit);
    if (r == 0)
        chain_call_back_all(core, &tx);
    dispatch_finish(&tx);
    return r;
}

/* What the oracle knows of arrays that are stopping: by a cancel, because another job
 * replaces them, or because they can start no more. */
#include "tests/sim/sim.h"

/* Whether STARTING is durable before it begins: of others it may come with the end. */
static bool is_told_before(const struct order *o)
{
    return o->kind == JOB_KIND_EXEC || (o->kind == JOB_KIND_SLEEP && o->lock);
}

void arrays_starting(const struct order *o, const struct job_key *key, bool stops)
{
    if (stops && is_told_before(o))
        sim_violation("job %llu_%lld starts, and its array is stopping",
                      (unsigned long long)key->id, (long long)key->index);
}

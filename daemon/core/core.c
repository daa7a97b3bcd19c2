/* Makes and frees the lock and the tables of the live jobs. */
#include "daemon/core/core.h"

#include <stddef.h>
#include <stdlib.h>

#include "daemon/core/limit_defaults.h"
#include "daemon/core/state.h"

_Static_assert(offsetof(struct core, parts) == 0, "parts_of() takes one for the other");

void core_init(struct core *core, struct volt_runtime *rt, const struct kinds *kinds,
               const struct siphash_key *secret)
{
    core->parts = (struct parts){
        .rt = rt,
        .outputs = &core->outputs,
        .interned = &core->interned,
        .news = &core->news,
        .ends = &core->ends,
        .missed = &core->missed,
        .table = &core->table,
        .index = &core->index,
        .users = &core->users,
        .keys = &core->keys,
        .orphans = &core->orphans,
        .leases = &core->leases,
        .durations = &core->durations,
        .agenda = &core->agenda,
        .dispatcher = &core->dispatcher,
        .ring = &core->ring,
        .counts = &core->counts,
        .limits = &core->limits,
        .held = &core->held,
    };
    core->kinds = kinds;
    core->keys.secret = core->users.secret = *secret;
    core->keys.users = &core->users;
    shares_init(&core->shares, secret);
    core->outputs.dir_fd = core->outputs.spare_fd = -1;
    interned_init(&core->interned);
    volt_notify_init(&core->news);
    volt_notify_init(&core->ends);
    volt_notify_init(&core->missed);
    event_ring_init(&core->ring, jobs_now_usec());
}

struct core *core_new(struct volt_runtime *rt, const struct kinds *kinds,
                      const struct siphash_key *secret)
{
    struct core *core = calloc(1, sizeof(*core));

    if (core)
        core_init(core, rt, kinds, secret);
    return core;
}

void core_forget_all(struct core *core)
{
    uint64_t id = 0;
    struct job *job;

    do {
        size_t steps = SIZE_MAX;
        id = table_next(&core->table, id, &steps, &job);
        if (job)
            job_free(job);
    } while (id);
    table_fini(&core->table);
    postings_fini(&core->index.keys);
}

void core_fini(struct core *core)
{
    volt_notify_fini(&core->news);
    volt_notify_fini(&core->ends);
    volt_notify_fini(&core->missed);
    event_log_free(core->parts.log);
    outputs_close(&core->outputs);
    leases_fini(core);
    durations_fini(&core->durations);
    users_fini(&core->users);
    free(core->orphans.all);
    interned_fini(&core->interned);
    keys_fini(&core->keys);
    shares_fini(&core->shares);
    free(core->replacements.all);
    admission_free(core->parts.admit);
    queues_free(core);
    limit_defaults_free(core->limit_defaults);
}

void core_free(struct core *core)
{
    core_fini(core);
    free(core);
}

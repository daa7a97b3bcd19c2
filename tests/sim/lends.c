/* See lends.h. */
#include "tests/sim/lends.h"

#include "tests/sim/sim.h"

/* Mostly one of the user's that runs, or has not ended, as far as is known. */
struct job_key lends_a_job(uid_t uid)
{
    struct job_key key = {.index = JOB_NO_INDEX};
    const struct order *o = NULL;

    for (int tries = 0; tries < 12 && oracle_orders(); tries++) {
        o = oracle_order(sim_below(oracle_orders()));
        if (o->uid == uid && oracle_lives(o) &&
            (tries > 7 || o->count || truth_alive(o->id, JOB_NO_INDEX) > 0))
            break;
    }
    if (!sim.lends || !o)
        return key;
    key.id = o->id;
    if (o->count)
        key.index = o->number % 5 + sim_below(o->count);
    return key;
}

static struct job_key key_of_call(const void *arg, size_t i)
{
    const struct lends *l = arg;

    (void)i;
    return l->of;
}

int lends_begin(uid_t uid, const struct job_key *of, struct lends *l)
{
    struct volt_error err;

    if (!sim.lends)
        return 0;
    l->of = *of;
    l->call = (struct inner_wait){.uid = uid, .job = key_of_call, .arg = l, .n = 1};
    if (sim_one_in(4))
        l->call.in_lease = leases_one_of(uid);
    else
        l->call.in_job = lends_a_job(uid);
    return lending_begin_wait(sim.core, &l->call, &l->lending, NULL, &err);
}

void lends_end(struct lends *l)
{
    lending_end_wait(sim.core, &l->call, &l->lending);
}

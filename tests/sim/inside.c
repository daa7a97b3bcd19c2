/* What must hold inside of voltd while it lives, looked at between two polls: counters
 * against a recount, slots, order, memory. */
#include "tests/sim/sim.h"

#include "daemon/core/state.h"
#include "daemon/dispatch/state.h"

#define HEAVIEST 14 /* one job of clients.c, as ended jobs weigh; it may stay on top */

static unsigned most_slots; /* since the last start of the machine */
static unsigned most_lent;  /* likewise: at one time; so many more may run */

void inside_reset(void)
{
    most_slots = most_lent = 0;
}

/* The job that lends is counted. */
void __real_admission_lend(struct admission *a, struct waiter *w, uint64_t now);
void __wrap_admission_lend(struct admission *a, struct waiter *w, uint64_t now);
void __wrap_admission_lend(struct admission *a, struct waiter *w, uint64_t now)
{
    if (sim.core->counts.slots_lent > most_lent)
        most_lent = sim.core->counts.slots_lent;
    __real_admission_lend(a, w, now);
}

void inside_note_slots(void)
{
    if (sim.config.slots > most_slots)
        most_slots = (unsigned)sim.config.slots;
}

void oracle_check_slots(void)
{
    if (keeper_running() > most_slots + most_lent)
        sim_violation("%u processes run in %u slots, of which %u were lent at a time",
                      keeper_running(), most_slots, most_lent);
}

struct recount {
    uint64_t by_state[JOB_STATE_COUNT];
    uint64_t granted, lent, waiting, ended_weight;
};

static void count_work(struct recount *r, const struct work *w)
{
    r->granted += work_has_slot(w) && !w->lends && jobs_is_process(w->job);
    r->lent += w->lends;
}

static void count_array(struct recount *r, const struct job *job)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        r->by_state[i] += job->array->by_state[i];
    if (!job->elements)
        return;
    for (uint64_t at = 0; at < job->array->total; at++) {
        const struct work *w = elements_work(job->elements, (int64_t)at);

        if (w)
            count_work(r, w);
    }
}

static void count_job(struct recount *r, const struct job *job)
{
    if (job->array)
        count_array(r, job);
    else
        r->by_state[job->status.state]++;
    if (job->live)
        count_work(r, job->live);
    r->waiting += waiting_has_to(job);
}

static uint64_t leases_waiting(const struct core *core)
{
    struct hash_cursor at = {0};
    uint64_t n = 0;

    for (struct hash_node *node; (node = hash_table_each(&core->leases.all, &at));)
        n += list_thing(node, struct lease, hash)->state == LEASE_WAITS;
    return n;
}

static struct recount recount(struct core *core)
{
    struct recount r = {.waiting = leases_waiting(core)};
    struct job *job;
    uint64_t id = 0;

    do {
        size_t steps = SIZE_MAX;

        id = table_next(&core->table, id, &steps, &job);
        if (job)
            count_job(&r, job);
    } while (id);
    return r;
}

/* The oldest that has ended: others have to look at its elements first, or its end is not
 * durable yet. */
static bool has_to_stay(const struct core *core)
{
    const struct job *oldest = list_thing(core->ended.first, struct job, node);

    return (oldest->elements && oldest->elements->followers.n) ||
           (!oldest->is_history && oldest->barrier > core->dispatcher.barrier_done);
}

void oracle_check_core(void)
{
    struct core *core = sim.core;
    const struct admission_counts a = admission_count(core->parts.admit);
    const struct recount r = recount(core);

    for (int i = 0; i < JOB_DONE; i++)
        if (core->counts.by_state[i] != r.by_state[i])
            sim_violation("%llu jobs are counted as %s, and %llu are so",
                          (unsigned long long)core->counts.by_state[i],
                          job_state_name((enum job_state)i),
                          (unsigned long long)r.by_state[i]);
    if (a.eligible + a.unmet != r.waiting)
        sim_violation("%llu jobs wait, and %llu are counted",
                      (unsigned long long)r.waiting,
                      (unsigned long long)(a.eligible + a.unmet));
    if (a.used < r.granted)
        sim_violation("%llu slots are held, and %u are taken",
                      (unsigned long long)r.granted, a.used);
    if (core->counts.slots_lent != r.lent)
        sim_violation("%llu slots are lent, and %u are counted",
                      (unsigned long long)r.lent, core->counts.slots_lent);
    if (core->ended_weight > core->limits.keep_ended_jobs + HEAVIEST &&
        core->ended.first != core->ended.last && !core->dispatcher.more &&
        !core->dispatcher.starved && !has_to_stay(core))
        sim_violation("ended jobs weigh %llu in memory, and %llu are to be kept",
                      (unsigned long long)core->ended_weight,
                      (unsigned long long)core->limits.keep_ended_jobs);
}

/* How many jobs are still waited for as predecessors, though nothing is left of them. */
static size_t replaced_for_nothing(struct core *core)
{
    const struct replacements *r = &core->replacements;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        const struct job *job = table_get(&core->table, r->all[i].id);

        n += !job || !jobs_left(job, &job->status);
    }
    return n;
}

/* Nothing is left of anything but processes, of jobs whose shim has died. */
void oracle_check_quiet(void)
{
    struct core *core = sim.core;
    const size_t replaced = replaced_for_nothing(core);
    const struct admission_counts a = admission_count(core->parts.admit);

    oracle_check_core();
    if (a.used || a.eligible || a.unmet || core->agenda.first ||
        core->parts.dispatch->early.n || core->early_jobs)
        sim_violation("all jobs have ended; %u slots are taken, %llu jobs wait, "
                      "%u start ahead",
                      a.used, (unsigned long long)(a.eligible + a.unmet),
                      core->parts.dispatch->early.n);
    if (core->dispatcher.more || core->dispatcher.starved)
        sim_violation("all jobs have ended, and the dispatcher goes on and on");
    if (replaced || core->entering)
        sim_violation("all jobs have ended; %zu replacements and %u submissions are left",
                      replaced, core->entering);
}

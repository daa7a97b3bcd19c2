/* Faults that are aimed: many rows of the attempt's table (daemon/job/attempt.c) want
 * something to happen while an attempt is in one phase, which lasts some microseconds.
 * Chance alone finds that phase with that fault once in a million histories.
 *
 * Half of all histories have an aim: a row of the table. What mostly leads to its input
 * (`causes`), and sometimes anything else, strikes when an attempt of a voltd enters its
 * phase. How an attempt comes to a phase that is off its way is a strike as well, at the
 * phase before: `ways`. */
#include "tests/sim/machine.h"

#include <stddef.h>

#include "daemon/run/attempt.h"
#include "tests/support/attempt_names.h"

enum strike { /* those of the world come first: they are faults */
              HIT_CONNECTION,
              HIT_KEEPER_DIES,
              HIT_KEEPER_SHORT,
              HIT_KEEPER_STOPS,
              HIT_SHIM,
              HIT_RECORD,
              HIT_MEMORY,
              HIT_DISK,
              HIT_PROBE,
              HIT_VOLTD,
              HIT_END,
              HIT_CANCEL,
              HIT_PAUSE,
              HIT_RESUME,
              STRIKES
};

static const uint8_t fault_of[HIT_END] = {[HIT_CONNECTION] = FAULT_CONNECTION,
                                          [HIT_KEEPER_DIES] = FAULT_KEEPER_DIES,
                                          [HIT_KEEPER_SHORT] = FAULT_KEEPER_SHORT,
                                          [HIT_KEEPER_STOPS] = FAULT_KEEPER_STOPS,
                                          [HIT_SHIM] = FAULT_SHIM_DIES,
                                          [HIT_RECORD] = FAULT_RECORD_GOES,
                                          [HIT_MEMORY] = FAULT_MEMORY,
                                          [HIT_DISK] = FAULT_DISK_FAILS,
                                          [HIT_PROBE] = FAULT_PROBE,
                                          [HIT_VOLTD] = FAULT_VOLTD_DIES};

struct aim {
    uint8_t phase, strike;
};

/* What leads to a phase: a strike at the one before. */
static const struct {
    uint8_t to;
    struct aim from;
} ways[] = {
    {ATTEMPT_RESTING, {ATTEMPT_STARTING, HIT_CONNECTION}},
    {ATTEMPT_RESTING, {ATTEMPT_STARTING, HIT_KEEPER_SHORT}},
    {ATTEMPT_WAITING, {ATTEMPT_STARTING, HIT_CONNECTION}},
    {ATTEMPT_PAUSE_DUE, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_PAUSING, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_PAUSE_AGAIN, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_PAUSE_AGAIN, {ATTEMPT_PAUSE_DUE, HIT_KEEPER_SHORT}},
    {ATTEMPT_PAUSED, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_RESUMING, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_RESUMING, {ATTEMPT_PAUSED, HIT_RESUME}},
    {ATTEMPT_RESUME_AGAIN, {ATTEMPT_RUNNING, HIT_PAUSE}},
    {ATTEMPT_RESUME_AGAIN, {ATTEMPT_PAUSED, HIT_RESUME}},
    {ATTEMPT_RESUME_AGAIN, {ATTEMPT_RESUMING, HIT_KEEPER_SHORT}},
    {ATTEMPT_UNPOSTED, {ATTEMPT_RUNNING, HIT_MEMORY}},
    {ATTEMPT_ASKING, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_ASKED, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_ASK_AGAIN, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_ASK_AGAIN, {ATTEMPT_ASKING, HIT_KEEPER_SHORT}},
    {ATTEMPT_KILLING, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_KILLED, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_KILL_AGAIN, {ATTEMPT_RUNNING, HIT_CANCEL}},
    {ATTEMPT_KILL_AGAIN, {ATTEMPT_KILLING, HIT_KEEPER_SHORT}},
    {ATTEMPT_CLEARING, {ATTEMPT_RUNNING, HIT_SHIM}},
    {ATTEMPT_CLEAR_AGAIN, {ATTEMPT_RUNNING, HIT_SHIM}},
    {ATTEMPT_LEFT, {ATTEMPT_RUNNING, HIT_SHIM}},
    {ATTEMPT_REMOVING, {ATTEMPT_TAKEN, HIT_SHIM}},
    {ATTEMPT_REMOVE_AGAIN, {ATTEMPT_TAKEN, HIT_SHIM}},
    {ATTEMPT_REMOVE_AGAIN, {ATTEMPT_STARTING, HIT_KEEPER_SHORT}},
};

/* What mostly leads to an input; else chance says what strikes. */
static const struct {
    uint8_t on, strike;
} causes[] = {{ON_STOP, HIT_CANCEL},
              {ON_UNREADY, HIT_MEMORY},
              {ON_WITHDRAWN, HIT_CANCEL},
              {ON_RESET, HIT_CONNECTION},
              {ON_SHORT, HIT_KEEPER_SHORT},
              {ON_GONE, HIT_END},
              {ON_REFUSED, HIT_KEEPER_SHORT},
              {ON_OVER, HIT_END},
              {ON_SHIM_KILLED, HIT_SHIM},
              {ON_NEVER_RAN, HIT_SHIM},
              {ON_ABSENT, HIT_RECORD},
              {ON_TURNED, HIT_PAUSE},
              {ON_LIMIT, HIT_KEEPER_SHORT},
              {ON_UNPOSTED, HIT_MEMORY},
              {ON_PROBE, HIT_KEEPER_SHORT}};

#define AIMS_MAX 6

static struct {
    struct aim all[AIMS_MAX];
    unsigned n;
    uint64_t lasts_usec; /* it goes on so long when its clients have asked all */
    bool stubborn;       /* each time, and at once */
    unsigned depth;      /* of strikes that come at once */
    struct job_key *key; /* of strikes on their way */
    size_t nkeys;
} aims;

static void add(uint8_t phase, uint8_t strike)
{
    if (aims.n < AIMS_MAX)
        aims.all[aims.n++] = (struct aim){phase, strike};
}

static uint8_t cause_of(uint8_t on)
{
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
        if (causes[i].on == on && !sim_one_in(4))
            return causes[i].strike;
    return (uint8_t)sim_below(STRIKES);
}

static uint32_t choose(void)
{
    uint8_t phase, on;
    uint32_t faults = 0;

    cover_a_row(&phase, &on);

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (ways[i].to == phase && !sim_one_in(4))
            add(ways[i].from.phase, ways[i].from.strike);
    sim.timed = phase == ATTEMPT_UNPOSTED;
    if ((phase == ATTEMPT_ASKING || phase == ATTEMPT_KILLING) && sim_one_in(4)) {
        sim.timed = true; /* it is paused as its time is up */
        add(phase, HIT_PAUSE);
    }
    sim.watched = on == ON_ABSENT && sim_one_in(2);
    aims.lasts_usec = sim_one_in(3) ? 30000000 : 0;
    aims.stubborn = sim_one_in(3);
    add(phase, cause_of(on));
    if (sim_one_in(4))
        add(phase, sim_one_in(2) ? HIT_VOLTD : (uint8_t)sim_below(STRIKES));
    for (unsigned i = 0; i < aims.n; i++)
        if (aims.all[i].strike < HIT_END)
            faults |= 1u << fault_of[aims.all[i].strike];
    return faults;
}

uint32_t aim_reset(void)
{
    sim_free(aims.key);
    aims.key = NULL;
    aims.nkeys = aims.n = aims.depth = 0;
    aims.lasts_usec = 0;
    return sim_one_in(2) ? choose() : 0;
}

static void strike(uint64_t what, uint64_t i)
{
    const struct job_key key = aims.key[i];

    if (what < HIT_END) {
        if (sim_may((enum sim_fault)fault_of[what]))
            history_fault((enum sim_fault)fault_of[what], &key);
    } else if (what == HIT_END) {
        shims_end(&key);
    } else if (sim.core && !sim.calm) {
        clients_steer(what == HIT_CANCEL  ? STEER_JOB_CANCEL
                      : what == HIT_PAUSE ? STEER_JOB_PAUSE
                                          : STEER_JOB_RESUME,
                      &key);
    }
}

/* What a client does may come in between, as on another worker. */
static void strike_now(uint8_t what, size_t i)
{
    if (!sim.inside || sim.outside || aims.depth > 0 || what == HIT_VOLTD) {
        sim_after_in_life(0, strike, what, i);
        return;
    }
    aims.depth++;
    strike(what, i);
    for (unsigned n = what < HIT_END ? 0 : 1 + sim_below(3); n > 0; n--)
        (void)executor_step();
    aims.depth--;
}

/* Nothing; about as long as an answer takes, or a commit. */
static uint64_t a_while(void)
{
    if (aims.stubborn || sim_one_in(2))
        return 0;
    return sim_below(sim_one_in(2) ? 600 : 6000);
}

void aim_note(const struct attempt_state *s)
{
    const struct attempt *a =
        (const struct attempt *)((const char *)s - offsetof(struct attempt, state));

    sim_trace("%llu_%lld.%u: phase %s", (unsigned long long)a->key.id,
              (long long)a->key.index, a->key.attempt, phase_name(s->phase));
    for (unsigned i = 0; i < aims.n && !sim.calm; i++) {
        const uint8_t what = aims.all[i].strike;

        if (aims.all[i].phase != s->phase || (!aims.stubborn && sim_one_in(3)))
            continue;
        SIM_PUSH(aims.key, aims.nkeys, a->key);
        if (sim_one_in(aims.stubborn ? 2 : 4))
            strike_now(what, aims.nkeys - 1);
        else
            sim_after_in_life(a_while(), strike, what, aims.nkeys - 1);
    }
}

uint64_t aim_lasts(void)
{
    return aims.lasts_usec;
}

void aim_voltd_died(void)
{
    aims.depth = 0;
}

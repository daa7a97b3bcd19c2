/* One history: a machine is switched on, clients ask, things fail, then nothing fails any
 * more and everything has to come to its end. */
#include "tests/sim/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/core/state.h"
#include "daemon/life/allowed.h"
#include "daemon/life/life.h"
#include "daemon/life/recover.h"

#define ACTIONS_MIN 12
#define ACTIONS_MAX 60
#define CALM_USEC   UINT64_C(600000000) /* in which all has to come to its end */
#define SETTLE_USEC UINT64_C(30000000)  /* for records that are still removed */

static struct {
    char dir[32], records[40];
    unsigned actions; /* left */
    bool reboots;     /* with the death of voltd that is on its way */
    bool stopping;
    bool memory; /* has failed */
} history;

struct history_limits history_limits = {.faults = UINT32_MAX, .actions = UINT32_MAX};

/* --- voltd -------------------------------------------------------------------------------- */

/* "default", and mostly "night". */
static const struct config_queues *a_choice_of_queues(void)
{
    static struct config_queues both;
    struct config_queue *night = &both.all[1];

    if (sim_one_in(8))
        return NULL;
    config_default_queues(&both);
    *night = both.all[0];
    (void)snprintf(night->name, sizeof(night->name), "night");
    night->value[QUEUE_NOMINAL] = sim_below((uint32_t)sim.config.slots);
    night->value[QUEUE_MAX] = sim_below(3);
    night->value[QUEUE_USER_MAX] = sim_below(3);
    night->value[QUEUE_WEIGHT] = 1 + sim_below(3);
    night->value[QUEUE_LEND] = sim_below(2);
    both.n = 2;
    return &both;
}

/* What was told of a queue counts after a restart. */
static void check_queues(struct core *core)
{
    for (int i = 0; i < 2; i++) {
        const struct queue *q = queues_find(core, i ? "night" : "default");

        if ((q && q->hand.paused) != image_is_paused(i))
            sim_violation("queue %d is%s paused, and was%s", i,
                          q && q->hand.paused ? "" : " not",
                          image_is_paused(i) ? "" : " not");
    }
}

static void start(uint64_t a, uint64_t b);

static void start_later(void)
{
    sim_after(sim_between(10, 30000), start, 0, 0);
}

static void start(uint64_t a, uint64_t b)
{
    const struct life_options o = {.config = &sim.config,
                                   .runtime_dir = history.dir,
                                   .state_dir = history.dir,
                                   .record_dir = history.records,
                                   .keeper_path = "/keeper",
                                   .socket = "/x"};
    struct life_options with = o;
    struct volt_error err = {.text = ""};
    struct core *core = NULL;

    (void)a, (void)b;
    if (sim.rt)
        return;
    sim.life++;
    sim.outside++;
    with.rt = sim.rt = executor_new();
    sim.outside--;
    with.queues = a_choice_of_queues();
    inside_note_slots();
    sim_trace("voltd %u starts", sim.life);
    sim.inside = true;
    int r = life_new(&with, &core, &err);
    sim.inside = false;
    if (r == 0) {
        check_queues(core);
        edits_check_core(core);
        sim.core = core;
        if (sim.watched)
            clients_watch();
        return;
    }
    if (!sim.memory_fails && !sim_may(FAULT_PROBE))
        sim_violation("voltd does not start: %d, %s", r, err.text);
    sim_trace("voltd does not start: %s", err.text);
    keeper_voltd_died();
    executor_free(sim.rt);
    sim.rt = NULL;
    start_later();
}

static void has_died(void)
{
    sim.inside = false;
    sim.outside = 0;
    sim.die_at = 0;
    history.stopping = false;
    disk_voltd_died();
    keeper_voltd_died();
    clients_voltd_died();
    leases_voltd_died();
    aim_voltd_died();
    executor_abandon(sim.rt);
    sim.rt = NULL;
    sim.core = NULL;
    if (history.reboots) {
        bool keeps_records = sim_one_in(2);

        keeper_reboot(keeps_records);
        oracle_rebooted(keeps_records);
        leases_rebooted();
        inside_reset();
    }
    history.reboots = false;
    start_later();
}

static void die_soon(bool reboots)
{
    if (!sim.rt || sim.die_at)
        return;
    sim.die_at = sim.steps + 1 + sim_below(sim_one_in(4) ? 2000 : 60);
    history.reboots = reboots;
    sim_count_fault(reboots ? FAULT_REBOOT : FAULT_VOLTD_DIES);
}

/* The orderly end. */
static void stop(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    history.stopping = false;
    sim_trace("voltd stops");
    sim.inside = true;
    (void)volt_runtime_shutdown(sim.rt, UINT64_MAX);
    life_free(sim.core);
    sim.inside = false;
    sim.core = NULL;
    executor_free(sim.rt);
    sim.rt = NULL;
    start_later();
}

static void begin_to_stop(void)
{
    if (!sim.core || history.stopping)
        return;
    history.stopping = true;
    sim.inside = true;
    life_close(sim.core);
    sim.inside = false;
    sim_after_in_life(sim_below(30000), stop, 0, 0);
}

static void reload(void)
{
    sim.config.slots = 1 + sim_below(4);
    sim.config.start_ahead = sim_one_in(3) ? sim_below(4) : 16;
    sim.config.keep_ended_jobs = sim_below(30);
    sim.config.max_running_per_user = sim_one_in(3) ? 1 + sim_below(3) : 0;
    inside_note_slots();
    sim_trace("reload: %u slots", (unsigned)sim.config.slots);
    sim.inside = true;
    size_t n;
    struct queue_config *queues =
        allowed_queues(a_choice_of_queues(), sim.config.slots, &n);
    if (queues)
        (void)life_reload(sim.core, &sim.config, NULL, queues, n);
    allowed_free(queues, queues ? n : 0);
    sim.inside = false;
}

/* --- faults --------------------------------------------------------------------------------- */

static void memory_is_back(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    sim.memory_fails = false;
}

static void disk_is_well(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    disk_set_full(false);
    disk_set_failing(false);
    disk_set_slow(false);
}

static void kill_keeper(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    keeper_kill();
}

/* key: of the attempt that it is aimed at; NULL: any. */
static bool may_hit(enum sim_fault f, const struct job_key *key)
{
    if (f == FAULT_SHIM_DIES)
        return key ? keeper_kill_shim_of(key) : keeper_kill_shim(sim_below(8));
    if (f == FAULT_RECORD_GOES)
        return key ? keeper_lose_record_of(key) : keeper_lose_record(sim_below(8));
    return true;
}

void history_fault(enum sim_fault f, const struct job_key *key)
{
    if (f == FAULT_VOLTD_DIES || f == FAULT_REBOOT) {
        die_soon(f == FAULT_REBOOT);
        return;
    }
    if (!may_hit(f, key))
        return;
    sim_count_fault(f);
    switch (f) {
    case FAULT_KEEPER_DIES:
        kill_keeper(0, 0);
        break;
    case FAULT_CONNECTION:
        keeper_break_connection();
        break;
    case FAULT_KEEPER_STOPS:
        keeper_stop(sim_between(1000, 3000000));
        break;
    case FAULT_KEEPER_SHORT:
        oracle_excuse_failures();
        keeper_starve(sim_between(1000, sim_one_in(4)   ? 40000000
                                        : sim_one_in(3) ? 5000000
                                                        : 50000));
        break;
    case FAULT_DISK_FULL:
    case FAULT_DISK_FAILS:
    case FAULT_DISK_SLOW:
        oracle_excuse_failures();
        disk_set_full(f == FAULT_DISK_FULL);
        disk_set_failing(f == FAULT_DISK_FAILS);
        disk_set_slow(f == FAULT_DISK_SLOW);
        sim_after(sim_between(1000, 1000000), disk_is_well, 0, 0);
        break;
    case FAULT_MEMORY:
        oracle_excuse_failures();
        oracle_excuse_keys();
        sim.memory_fails = history.memory = true;
        sim_after(sim_between(100, 300000), memory_is_back, 0, 0);
        break;
    default:
        break;
    }
}

/* Those that happen by themselves: the others are looked up where they can. */
static void fail_somehow(void)
{
    static const enum sim_fault list[] = {
        FAULT_VOLTD_DIES,   FAULT_VOLTD_DIES,   FAULT_VOLTD_DIES, FAULT_SHIM_DIES,
        FAULT_SHIM_DIES,    FAULT_KEEPER_DIES,  FAULT_REBOOT,     FAULT_DISK_FULL,
        FAULT_DISK_FAILS,   FAULT_DISK_SLOW,    FAULT_MEMORY,     FAULT_CONNECTION,
        FAULT_KEEPER_STOPS, FAULT_KEEPER_SHORT, FAULT_RECORD_GOES};
    enum sim_fault f = list[sim_below(sizeof(list) / sizeof(list[0]))];

    if (sim_may(f))
        history_fault(f, NULL);
}

static void act(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    if (!history.actions)
        return;
    history.actions--;
    sim_after(sim_one_in(3) ? sim_below(40000) : sim_below(500), act, 0, 0);
    if (sim_one_in(5))
        fail_somehow();
    else if (sim.core && sim_one_in(60))
        begin_to_stop();
    else if (sim.core && sim_one_in(30))
        reload();
    else if (sim.core && sim_one_in(12))
        leases_act();
    else if (sim.core)
        clients_act();
}

/* --- time goes on ------------------------------------------------------------------------------ */

static void step(void)
{
    uint64_t next;

    if (sim_one_in(3) && sim_run_event())
        return;
    sim.inside = true;
    bool ran = executor_step();
    sim.inside = false;
    if (ran || sim_run_event())
        return;
    next = executor_next_timer();
    if (sim_next_event() < next)
        next = sim_next_event();
    if (next == UINT64_MAX)
        next = sim.now + 100000;
    sim.now = next > sim.now ? next : sim.now + 1;
}

/* One step, after which voltd may have died. */
static void step_or_die(void)
{
    if (setjmp(sim.death))
        has_died();
    else
        step();
}

/* Until `over`, or so long. False: it is not over. */
static bool go_on(bool (*over)(void), uint64_t usec)
{
    uint64_t until = sim.now + usec;
    unsigned n = 0;

    while (sim.now < until && !(over && over())) {
        step_or_die();
        if (++n % 32 == 0 && sim.core)
            oracle_check_core();
    }
    return !over || over();
}

static bool has_acted(void)
{
    return history.actions == 0;
}

static bool is_over(void)
{
    return sim.core && !history.stopping && oracle_is_over() && clients_open() == 0 &&
           leases_open() == 0 && disk_is_idle();
}

static void die_now(void)
{
    if (setjmp(sim.death) == 0) {
        sim.die_at = 1;
        sim.inside = true;
        sim_step();
    }
    has_died();
}

/* Two replays of one store give equal states. */
static void check_replay(void)
{
    uint64_t hash[2];

    for (int i = 0; i < 2; i++) {
        die_now();
        while (!sim.core)
            step_or_die();
        hash[i] = recover_hash(sim.core);
    }
    if (hash[0] != hash[1])
        sim_violation("two replays of one store differ");
}

/* What there was no memory to remember is for the next voltd. */
static void check_records(void)
{
    struct job_key key;
    unsigned n = history.memory ? 0 : keeper_records(&key);

    if (n)
        sim_violation(
            "all jobs have ended, and %u records are left, %llu_%lld.%u for one", n,
            (unsigned long long)key.id, (long long)key.index, key.attempt);
}

/* What is held or paused would wait for ever. */
static void release(uint64_t a, uint64_t b)
{
    (void)a, (void)b;
    if (sim.core && oracle_holds())
        clients_release_all();
    if (sim.core)
        clients_resume_queues();
    if (sim.core && pauses_any())
        clients_resume_all();
    sim_after(100000, release, 0, 0);
}

static void come_to_the_end(void)
{
    sim.calm = true;
    sim_after(0, release, 0, 0);
    sim.memory_fails = false;
    sim.die_at = 0;
    history.reboots = false;
    disk_is_well(0, 0);
    bool over = go_on(is_over, CALM_USEC) && go_on(NULL, SETTLE_USEC);
    if ((!over || oracle_lacks_ends()) && oracle_is_stuck()) {
        history.reboots = true;
        die_now();
        over = go_on(is_over, CALM_USEC) && go_on(NULL, SETTLE_USEC);
    }
    /* What there was no memory for is done by the next voltd: a job that was durable and
     * could not be entered, the end of an array. Jobs may wait for such a one, and clients
     * for them. */
    if (history.memory && (clients_open() == 0 || !oracle_is_over()) &&
        (!over || oracle_lacks_ends())) {
        die_now();
        over = go_on(is_over, CALM_USEC) && go_on(NULL, SETTLE_USEC);
    }
    oracle_check_over();
    if (!over)
        sim_violation("%u clients are not answered, and %u leases are left",
                      clients_open(), leases_open());
    oracle_check_quiet();
    clients_check_watchers();
    check_records();
    if (sim_one_in(6))
        check_replay();
    sim.inside = true;
    (void)volt_runtime_shutdown(sim.rt, UINT64_MAX);
    life_free(sim.core);
    sim.inside = false;
    executor_free(sim.rt);
    sim.rt = NULL;
    sim.core = NULL;
}

/* --- a history ------------------------------------------------------------------------------------ */

static void choose_config(void)
{
    config_defaults(&sim.config);
    sim.config.slots = 1 + sim_below(4);
    if (sim_one_in(4))
        sim.config.start_ahead = sim_below(4);
    sim.config.keep_ended_jobs = sim_below(40);
    sim.config.max_jobs_per_user = sim_one_in(8) ? 10 : 1000;
    sim.config.max_running_per_user = sim_one_in(4) ? 1 + sim_below(3) : 0;
    sim.config.fold_output = sim_one_in(3) ? 100 : 65536;
    if (sim_one_in(6))
        sim.config.keep_history = sim_below(10);
}

/* The first id is any, often just below the end of a chunk of core's table. */
static void write_ids(const char *path)
{
    uint64_t mark = sim_one_in(2) ? 1 : 1024 * (1 + sim_below(3)) - sim_below(16);
    FILE *f = fopen(path, "w");

    if (!f || fprintf(f, "%llu\n", (unsigned long long)mark) < 0 || fclose(f) != 0)
        sim_violation("the simulator cannot write %s", path);
}

static void make_dirs(void)
{
    char ids[48];

    (void)snprintf(history.dir, sizeof(history.dir), "/tmp/volt-sim.%d", (int)getpid());
    (void)snprintf(history.records, sizeof(history.records), "%s/rec", history.dir);
    (void)snprintf(ids, sizeof(ids), "%s/ids", history.dir);
    (void)mkdir(history.dir, 0700);
    (void)mkdir(history.records, 0700);
    write_ids(ids);
}

void history_clean(void)
{
    char ids[48];

    (void)snprintf(ids, sizeof(ids), "%s/ids", history.dir);
    (void)unlink(ids);
    (void)rmdir(history.records);
    (void)rmdir(history.dir);
}

static void reset(uint64_t seed)
{
    bool trace = sim.trace;

    memset(&sim, 0, sizeof(sim));
    sim.trace = trace;
    rng_init(&sim.chance, seed, 0);
    sim.now = 1;
    sim_forget_events();
    disk_reset();
    keeper_reset();
    clients_reset();
    leases_reset();
    oracle_reset();
    pauses_reset();
    edits_reset();
    inside_reset();
    make_dirs();
}

void history_run(uint64_t seed)
{
    reset(seed);
    choose_config();
    sim.faults = sim_one_in(8) ? 0 : rng_next(&sim.chance) & rng_next(&sim.chance);
    if (sim_one_in(3))
        sim.faults |= rng_next(&sim.chance);
    sim.faults |= aim_reset();
    sim.faults &= history_limits.faults;
    sim.short_jobs = sim_one_in(3);
    sim.few_keys = sim_one_in(4);
    sim.few_locks = sim_one_in(4);
    sim.lends = sim_one_in(4);
    sim.few_locks |= sim.lends && sim_one_in(2);
    history.actions = (unsigned)sim_between(ACTIONS_MIN, ACTIONS_MAX);
    if (history.actions > history_limits.actions)
        history.actions = history_limits.actions;
    history.stopping = history.reboots = history.memory = false;
    sim_after(0, start, 0, 0);
    sim_after(1, act, 0, 0);
    (void)go_on(has_acted, UINT64_MAX / 2);
    (void)go_on(NULL, aim_lasts());
    come_to_the_end();
    cover_note_history();
}

/* The command line of a model: which scenarios, how far, or one replay. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mcx_internal.h"

#define UNSET (-1000)

unsigned mcx_group_size = 48;

struct options {
    const char *program, *scenario, *replay;
    bool first, full, compare;
    int seconds;
    int preempt, stale, timeouts;
    long dfs, random, pct;
    uint64_t seed;
};

/* Quick limits keep all models together within a minute. */
#define QUICK_DFS    30000
#define QUICK_RANDOM 3000
#define QUICK_PCT    2000
#define DEEP_RANDOM  20000
#define DEEP_PCT     10000
#define DEEP_PREEMPT 3

#define COMPARE_DFS     4000
#define COMPARE_PREEMPT 3
#define COMPARE_STALE   1

static const char usage[] =
    "usage: %s [options]\n"
    "  --list           the scenarios and what they promise\n"
    "  --scenario NAME  only this one\n"
    "  --seconds N      deep: the depth-first search with no preemption, then one, two,\n"
    "                   three, each exhaustive unless these N seconds are over; two and\n"
    "                   three first without stale reads\n"
    "  --first          end with the first failure\n"
    "  --full           depth first: go on from states that have been seen, too\n"
    "  --compare        small searches with and without that: do they come to the same\n"
    "                   final states?\n"
    "  --preempt N      bound of preemptions of the depth-first search (-1: none)\n"
    "  --stale N        bound of stale reads per execution (-1: none)\n"
    "  --timeouts N     futex timeouts per execution\n"
    "  --dfs N          at most N executions depth first (0: none)\n"
    "  --random N       N random executions\n"
    "  --pct N          N executions with random priorities (PCT, depth 3)\n"
    "  --seed N         of the random ones\n"
    "  --replay CHOICES one execution, each step printed; with --scenario and the\n"
    "                   bounds that were printed with the failure\n"
    "Exit status: 0 all promises hold, 1 one is broken, 2 usage.\n";

static void list(void)
{
    printf("%s: %s\n", mcx_model.name, mcx_model.about);
    for (const struct mcx_scenario *s = mcx_model.scenarios; s->name; s++)
        printf("  %-24s %s\n", s->name, s->promise);
}

static int replay(const struct mcx_scenario *s, const struct options *o)
{
    struct mcx_bounds b = {.mode = MODE_REPLAY,
                           .preempt = o->preempt == UNSET ? -1 : o->preempt,
                           .stale = o->stale == UNSET ? -1 : o->stale,
                           .timeouts = o->timeouts == UNSET ? s->timeouts : o->timeouts};
    struct mcx_result r;

    if (!mcx_choice_load(o->replay)) {
        fprintf(stderr, "%s: not a choice string: %s\n", o->program, o->replay);
        return 2;
    }
    printf("%s/%s: %s\n", mcx_model.name, s->name, s->promise);
    mcx_log_on = true;
    mcx_explore(s, &b, &r);
    printf("%s\n", r.failed ? r.why : "holds in this execution");
    return r.failed ? 1 : 0;
}

static void report_failure(const struct mcx_scenario *s, const struct options *o,
                           const struct mcx_bounds *b, const struct mcx_result *r)
{
    static const char *const modes[] = {"depth first", "random", "PCT", "replay"};
    static char choices[1 << 16];

    printf("FAIL  %ld executions, %s\n  %s\n", r->executions, modes[b->mode], r->why);
    printf(
        "  replay: %s --scenario %s --preempt %d --stale %d --timeouts %d --replay '%s'\n",
        o->program, s->name, b->preempt, b->stale, b->timeouts,
        mcx_choice_text(choices, sizeof(choices)));
}

static bool try_mode(const struct mcx_scenario *s, const struct options *o,
                     struct mcx_bounds b, char *summary, size_t size)
{
    struct mcx_result r;
    size_t at = strlen(summary);

    if (b.executions <= 0)
        return true;
    b.timeouts = o->timeouts == UNSET ? s->timeouts : o->timeouts;
    b.seed = o->seed;
    mcx_explore(s, &b, &r);
    if (r.failed && s->must_fail) {
        snprintf(summary + at, size - at, "%ld until found", r.executions);
        return true;
    }
    if (r.failed || s->must_fail) {
        report_failure(s, o, &b, &r);
        return false;
    }
    if (b.mode == MODE_DFS)
        snprintf(summary + at, size - at, "%ld dfs p=%d s=%d %s", r.executions, b.preempt,
                 b.stale, r.exhausted ? "exhaustive" : "cut off");
    else
        snprintf(summary + at, size - at, "%ld %s + ", r.executions,
                 b.mode == MODE_PCT ? "pct" : "random");
    return true;
}

/* What leaving out states and preemptions must not change: the final states. True:
 * not. */
static bool compare(const struct mcx_scenario *s)
{
    struct mcx_bounds b = {.mode = MODE_DFS,
                           .stale = s->stale > COMPARE_STALE ? COMPARE_STALE : s->stale,
                           .timeouts = s->timeouts,
                           .executions = COMPARE_DFS,
                           .full = true};
    struct mcx_result all = {0}, few = {0};
    const int stale = b.stale;
    int preempt = 0;
    long needed = 0;
    char name[64];
    bool same;

    snprintf(name, sizeof(name), "%s/%s", mcx_model.name, s->name);
    if (s->must_fail)
        return true;
    /* With as many preemptions as can be searched in full. */
    for (int p = 0; p <= COMPARE_PREEMPT; p++) {
        struct mcx_result r;

        b.preempt = p;
        mcx_explore(s, &b, &r);
        if (!r.exhausted)
            break;
        all = r;
        preempt = p;
    }
    if (!all.exhausted)
        return true;
    /* In rounds, each of which goes on with the states of those before. */
    b.full = false;
    b.rash = true;
    b.executions = 0;
    for (b.stale = 0; b.stale <= stale; b.stale++)
        for (b.preempt = 0; b.preempt <= preempt; b.preempt++) {
            mcx_explore(s, &b, &few);
            needed += few.executions;
        }
    same = few.exhausted && few.ends == all.ends && few.digest == all.digest;
    printf("%-30s %s  %zu final states p=%d s=%d: %ld executions, %ld of them needed\n",
           name, same ? "same" : "FAIL", all.ends, preempt, stale, all.executions,
           needed);
    return same;
}

static long limit(long option, long scenario, long quick)
{
    if (option != UNSET)
        return option;
    if (scenario < 0)
        return 0;
    return scenario > 0 ? scenario : quick;
}

/* Rounds of the deep search, each with what the former had and more; what is cut off has
 * searched all of these, not a corner of the next. */
static const struct round {
    int preempt;
    bool stale; /* with as many stale reads as the scenario allows, or none */
} rounds[] = {
    {0, true}, {1, true}, {2, false}, {3, false}, {2, true}, {3, true},
};

static bool deep(const struct mcx_scenario *s, const struct options *o,
                 struct mcx_bounds b, char *summary, size_t size)
{
    const struct mcx_bounds bounds = b;
    double start = mcx_now();
    long executions = 0;
    int without = -1, with = -1; /* stale reads: preemptions of the last complete round */
    struct mcx_result r = {0};
    size_t at = strlen(summary);
    bool all = false;

    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]) && !all; i++) {
        bool stale = rounds[i].stale || bounds.stale == 0;

        b.preempt = rounds[i].preempt;
        b.stale = stale ? bounds.stale : 0;
        b.until = start + o->seconds;
        b.timeouts = s->timeouts;
        /* Those of a scenario without a bound, the litmus tests, are one round. */
        if (bounds.preempt > DEEP_PREEMPT)
            b.preempt = bounds.preempt;
        mcx_explore(s, &b, &r);
        executions += r.executions;
        if (r.failed || !r.exhausted)
            break;
        without = b.preempt > without ? b.preempt : without;
        with = stale ? b.preempt : with;
        all = with >= DEEP_PREEMPT;
    }
    if (r.failed && !s->must_fail) {
        report_failure(s, o, &b, &r);
        return false;
    }
    if (s->must_fail && !r.failed) {
        printf("FAIL  what must be found is not\n");
        return false;
    }
    at += (size_t)snprintf(summary + at, size - at, "%ld dfs ", executions);
    if (s->must_fail)
        snprintf(summary + at, size - at, "until found");
    else if (with < 0)
        snprintf(summary + at, size - at, "p=0 cut off");
    else if (with == without)
        snprintf(summary + at, size - at, "p=%d s=%d exhaustive%s", with, bounds.stale,
                 all ? "" : ", cut off");
    else
        snprintf(summary + at, size - at, "p=%d s=0, p=%d s=%d exhaustive, cut off",
                 without, with, bounds.stale);
    return true;
}

/* True: the promise holds in everything explored. */
static bool explore(const struct mcx_scenario *s, const struct options *o)
{
    char summary[256] = "", name[64];
    double start = mcx_now();
    bool is_deep = o->seconds > 0;
    struct mcx_bounds dfs = {.mode = MODE_DFS,
                             .preempt = o->preempt == UNSET ? s->preempt : o->preempt,
                             .stale = o->stale == UNSET ? s->stale : o->stale,
                             .full = o->full,
                             .executions = limit(o->dfs, s->dfs, QUICK_DFS)};
    struct mcx_bounds random = {
        .mode = MODE_RANDOM,
        .preempt = -1,
        .stale = o->stale == UNSET ? -1 : o->stale,
        .executions = limit(o->random, s->random, is_deep ? DEEP_RANDOM : QUICK_RANDOM)};
    struct mcx_bounds pct = {.mode = MODE_PCT,
                             .preempt = -1,
                             .stale = random.stale,
                             .executions =
                                 limit(o->pct, 0, is_deep ? DEEP_PCT : QUICK_PCT)};

    snprintf(name, sizeof(name), "%s/%s", mcx_model.name, s->name);
    printf("%-30s ", name);
    fflush(stdout);
    if (s->must_fail)
        random.executions = pct.executions = 0;
    /* The random modes first: they are short and find most. */
    if (!try_mode(s, o, random, summary, sizeof(summary)) ||
        !try_mode(s, o, pct, summary, sizeof(summary)))
        return false;
    if (is_deep) {
        dfs.executions = 0;
        if (!deep(s, o, dfs, summary, sizeof(summary)))
            return false;
    } else if (!try_mode(s, o, dfs, summary, sizeof(summary))) {
        return false;
    }
    printf("ok  %-60s %4.1f s\n", summary, mcx_now() - start);
    return true;
}

static bool parse(int argc, char **argv, struct options *o)
{
    enum {
        LIST = 1,
        SCENARIO,
        SECONDS,
        FIRST,
        FULL,
        COMPARE,
        PREEMPT,
        STALE,
        TIMEOUTS,
        DFS,
        RANDOM,
        PCT,
        SEED,
        REPLAY
    };
    static const struct option longs[] = {
        {"list", no_argument, NULL, LIST},
        {"scenario", required_argument, NULL, SCENARIO},
        {"seconds", required_argument, NULL, SECONDS},
        {"first", no_argument, NULL, FIRST},
        {"full", no_argument, NULL, FULL},
        {"compare", no_argument, NULL, COMPARE},
        {"preempt", required_argument, NULL, PREEMPT},
        {"stale", required_argument, NULL, STALE},
        {"timeouts", required_argument, NULL, TIMEOUTS},
        {"dfs", required_argument, NULL, DFS},
        {"random", required_argument, NULL, RANDOM},
        {"pct", required_argument, NULL, PCT},
        {"seed", required_argument, NULL, SEED},
        {"replay", required_argument, NULL, REPLAY},
        {0},
    };

    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (c) {
        case LIST:
            list();
            exit(0);
        case SCENARIO:
            o->scenario = optarg;
            break;
        case SECONDS:
            o->seconds = atoi(optarg);
            break;
        case FIRST:
            o->first = true;
            break;
        case FULL:
            o->full = true;
            break;
        case COMPARE:
            o->compare = true;
            break;
        case PREEMPT:
            o->preempt = atoi(optarg);
            break;
        case STALE:
            o->stale = atoi(optarg);
            break;
        case TIMEOUTS:
            o->timeouts = atoi(optarg);
            break;
        case DFS:
            o->dfs = atol(optarg);
            break;
        case RANDOM:
            o->random = atol(optarg);
            break;
        case PCT:
            o->pct = atol(optarg);
            break;
        case SEED:
            o->seed = strtoull(optarg, NULL, 0);
            break;
        case REPLAY:
            o->replay = optarg;
            break;
        default:
            return false;
        }
    }
    return optind == argc && (!o->replay || o->scenario);
}

int main(int argc, char **argv)
{
    const char *seed = getenv("SEED");
    struct options o = {
        .program = argv[0],
        .seed = seed ? strtoull(seed, NULL, 0) * UINT64_C(0x9E3779B97F4A7C15) : 0,
        .preempt = UNSET,
        .stale = UNSET,
        .timeouts = UNSET,
        .dfs = UNSET,
        .random = UNSET,
        .pct = UNSET};
    int explored = 0, failed = 0;

    if (!parse(argc, argv, &o)) {
        fprintf(stderr, usage, argv[0]);
        return 2;
    }
    mcx_fiber_setup();
    if (!mcx_zone_ordered(&mcx_scenario) || !mcx_zone_ordered(&mcx_running)) {
        fprintf(stderr, "%s: mcx_zone.o must follow the explorer's others\n", argv[0]);
        return 2;
    }
    for (const struct mcx_scenario *s = mcx_model.scenarios; s->name; s++) {
        if (o.scenario && strcmp(o.scenario, s->name) != 0)
            continue;
        if (o.replay)
            return replay(s, &o);
        explored++;
        failed += o.compare ? !compare(s) : !explore(s, &o);
        if (failed && o.first)
            break;
    }
    if (explored == 0) {
        fprintf(stderr, "%s: no such scenario; --list shows them\n", argv[0]);
        return 2;
    }
    return failed ? 1 : 0;
}

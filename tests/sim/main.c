/* Runs histories one after the other, in processes of their own, until the time is up;
 * says where one has broken a promise, and how to see that again.
 *
 * Usage: sim [--seed S] [--histories N] [--secs N] [--cpu-secs N] [--jobs N] [--all]
 *            [--no-shrink]
 *        sim --seed S --history I [--faults MASK] [--actions N] [--trace]
 *
 * The seed gives all histories; the second form runs one of them in this process.
 * --histories: at most so many, the same ones on every machine. --cpu-secs: until they
 * have used so much of the processor, whatever else it does. --all prints every count. */
#include "tests/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH     50 /* histories of one process: what voltd leaves when it dies goes with it */
#define HANG_SECS 20
#define JOBS_MAX  16
#define SHRINKS   60 /* tries to make a history smaller */

static struct {
    uint64_t seed, history, histories;
    unsigned secs, cpu_secs, jobs;
    bool one, all, no_shrink;
} options = {.histories = UINT64_MAX, .secs = 20, .jobs = 2};

/* Of each process, for the parent: the history that it is at. Behind them, of all: the
 * processor time of the histories that are over. */
static uint64_t *at;
#define SPENT_USEC (&at[JOBS_MAX])

static void run_one(uint64_t history)
{
    (void)alarm(HANG_SECS);
    history_run(sim_hash(options.seed, history, 99));
    (void)alarm(0);
}

int __real_clock_gettime(clockid_t clock, struct timespec *ts);

static uint64_t real_usec(clockid_t clock)
{
    struct timespec ts;

    (void)__real_clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t end_usec; /* CLOCK_MONOTONIC */

static bool is_time_up(void)
{
    if (options.cpu_secs)
        return __atomic_load_n(SPENT_USEC, __ATOMIC_RELAXED) / 1000000 >=
               options.cpu_secs;
    return real_usec(CLOCK_MONOTONIC) >= end_usec;
}

_Noreturn static void run_batch(unsigned slot, uint64_t first)
{
    uint64_t spent = 0;

    for (uint64_t i = first;
         i < first + BATCH && i < options.histories && !is_time_up(); i++) {
        __atomic_store_n(&at[slot], i, __ATOMIC_RELAXED);
        run_one(i);
        const uint64_t now = real_usec(CLOCK_PROCESS_CPUTIME_ID);
        (void)__atomic_fetch_add(SPENT_USEC, now - spent, __ATOMIC_RELAXED);
        spent = now;
    }
    history_clean();
    _exit(0);
}

/* Whether the history fails, with these limits; quietly. */
static bool fails(uint64_t history, const struct history_limits *limits)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        history_limits = *limits;
        (void)freopen("/dev/null", "w", stderr);
        run_one(history);
        history_clean();
        _exit(0);
    }
    (void)waitpid(pid, &status, 0);
    return status != 0;
}

/* Fewer kinds of faults, then fewer actions, as long as it fails. */
static struct history_limits shrink(uint64_t history)
{
    struct history_limits best = {.faults = history_limits.faults & ((1u << FAULTS) - 1),
                                  .actions = 64};
    unsigned tries = 0;

    for (unsigned f = 0; f < FAULTS && tries < SHRINKS; f++) {
        struct history_limits less = best;

        less.faults &= ~(1u << f);
        tries++;
        if (fails(history, &less))
            best = less;
    }
    for (unsigned step = 32; step > 0 && tries < SHRINKS; step /= 2)
        for (struct history_limits less = best; less.actions > step; tries++) {
            less.actions = best.actions - step;
            if (!fails(history, &less))
                break;
            best = less;
        }
    return best;
}

static void report(uint64_t history, int status)
{
    bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;

    if (hangs)
        fprintf(stderr, "sim: a history does not end within %d s\n", HANG_SECS);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "sim: a history ended with signal %d\n", WTERMSIG(status));
    struct history_limits least = hangs || options.no_shrink ? history_limits : shrink(history);
    fprintf(stderr,
            "sim: replay: tests/sim/sim --seed %llu --history %llu --faults %#x "
            "--actions %u --trace\n",
            (unsigned long long)options.seed, (unsigned long long)history, least.faults,
            least.actions);
}

struct process {
    pid_t pid;
    unsigned slot;
};

static void begin(struct process *p, unsigned slot, uint64_t first)
{
    (void)fflush(NULL);
    p->slot = slot;
    p->pid = fork();
    if (p->pid == 0)
        run_batch(slot, first);
}

/* Returns how many histories failed: the first one ends it. */
static unsigned run_all(void)
{
    struct process all[JOBS_MAX] = {{0}};
    uint64_t next = 0;
    unsigned running = 0, failed = 0;

    end_usec = real_usec(CLOCK_MONOTONIC) + options.secs * UINT64_C(1000000);
    for (unsigned i = 0; i < options.jobs; i++, running++, next += BATCH)
        begin(&all[i], i, next);
    while (running > 0) {
        int status;
        pid_t pid = wait(&status);
        unsigned i = 0;

        while (i < options.jobs && all[i].pid != pid)
            i++;
        running--;
        if (status != 0) {
            failed++;
            if (failed == 1)
                report(at[i], status);
        }
        if (failed || next >= options.histories || is_time_up())
            continue;
        begin(&all[i], i, next);
        next += BATCH;
        running++;
    }
    return failed;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";

        if (strcmp(argv[i], "--trace") == 0)
            sim.trace = true;
        else if (strcmp(argv[i], "--all") == 0)
            options.all = true;
        else if (strcmp(argv[i], "--no-shrink") == 0)
            options.no_shrink = true;
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--histories") == 0)
            options.histories = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--secs") == 0)
            options.secs = (unsigned)strtoul(value, NULL, 0);
        else if (strcmp(argv[i], "--cpu-secs") == 0)
            options.cpu_secs = (unsigned)strtoul(value, NULL, 0);
        else if (strcmp(argv[i], "--jobs") == 0)
            options.jobs = (unsigned)strtoul(value, NULL, 0);
        else if (strcmp(argv[i], "--faults") == 0)
            history_limits.faults = (uint32_t)strtoul(value, NULL, 0);
        else if (strcmp(argv[i], "--actions") == 0)
            history_limits.actions = (unsigned)strtoul(value, NULL, 0);
        else if (strcmp(argv[i], "--history") == 0) {
            options.history = strtoull(value, NULL, 0);
            options.one = true;
        }
    }
    if (options.jobs < 1 || options.jobs > JOBS_MAX)
        options.jobs = 1;
}

int main(int argc, char **argv)
{
    options.seed = (uint64_t)time(NULL);
    read_options(argc, argv);
    at = mmap(NULL, (JOBS_MAX + 1) * sizeof(*at), PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cover_init();
    if (options.one) {
        run_one(options.history);
        history_clean();
        printf("sim: history %llu keeps what is promised\n",
               (unsigned long long)options.history);
        return 0;
    }
    printf("sim: SEED=%llu\n", (unsigned long long)options.seed);
    unsigned failed = run_all();
    cover_print(options.all);
    printf("sim: the histories took %.1f s of the processor\n", (double)*SPENT_USEC / 1e6);
    printf("sim seed=%llu posts=%llu histories=%llu violations=%u\n",
           (unsigned long long)options.seed, (unsigned long long)cover_posts(),
           (unsigned long long)cover_histories(), failed);
    failed += failed == 0 && !cover_check();
    printf("sim passed=%d failed=%u\n", failed ? 0 : 1, failed);
    return failed != 0;
}

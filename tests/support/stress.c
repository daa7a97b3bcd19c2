#include "tests/support/stress.h"

#include "base/clock.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_SECS    2
#define DEFAULT_WORKERS 8
/* A round takes seconds at most, sanitizers and busy machines included. */
#define ROUND_SECS 100

static char repeat[160];
static uint64_t first_seed, end_ns, sentinel_usec;

static void usage(const char *program)
{
    (void)fprintf(stderr, "usage: %s [--secs N] [--seed N] [--workers 1..%d]\n", program,
                  STRESS_MAX_WORKERS);
    exit(2);
}

static void say(const char *what)
{
    (void)!write(STDERR_FILENO, what, strlen(what));
}

static void on_alarm(int sig)
{
    (void)sig;
    say("FAILED: the round does not end: a wake was lost, or a task hangs\n");
    say(repeat);
    abort();
}

void stress_failed(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "FAILED: %s:%d: %s\n%s", file, line, what, repeat);
    abort();
}

static uint64_t number(const char *program, const char *text)
{
    char *end;
    uint64_t n;

    errno = 0;
    n = strtoull(text, &end, 0);
    if (errno || *end || end == text)
        usage(program);
    return n;
}

void stress_init(struct stress *s, int argc, char **argv)
{
    uint64_t secs = DEFAULT_SECS;
    const char *given = getenv("SEED");

    *s = (struct stress){.seed = given && *given ? strtoull(given, NULL, 10)
                                                 : clock_ns() % 1000000000,
                         .workers = DEFAULT_WORKERS};
    for (int i = 1; i < argc; i += 2) {
        uint64_t n = i + 1 < argc ? number(argv[0], argv[i + 1]) : 0;

        if (i + 1 < argc && strcmp(argv[i], "--secs") == 0)
            secs = n;
        else if (i + 1 < argc && strcmp(argv[i], "--seed") == 0)
            s->seed = n;
        else if (i + 1 < argc && strcmp(argv[i], "--workers") == 0 && n >= 1 &&
                 n <= STRESS_MAX_WORKERS)
            s->workers = (unsigned)n;
        else
            usage(argv[0]);
    }
    sentinel_usec = runtime_sentinel_usec;
    first_seed = s->seed;
    end_ns = clock_ns() + secs * 1000000000;
    (void)snprintf(repeat, sizeof(repeat), "%s", argv[0]);
    (void)signal(SIGALRM, on_alarm);
}

bool stress_next(struct stress *s)
{
    static char program[100];

    if (s->round == 0)
        (void)snprintf(program, sizeof(program), "%.99s", repeat);
    else if (clock_ns() >= end_ns) {
        (void)alarm(0);
        (void)printf("%s: seed %llu, %u workers, %u rounds\n", program,
                     (unsigned long long)first_seed, s->workers, s->round);
        return false;
    }
    s->seed = first_seed + s->round++;
    (void)snprintf(repeat, sizeof(repeat),
                   "repeat: %s --secs 0 --workers %u --seed %llu\n", program, s->workers,
                   (unsigned long long)s->seed);
    (void)alarm(ROUND_SECS);
    return true;
}

void stress_start(struct stress *s, unsigned workers, const struct volt_options *like)
{
    struct volt_options opt = like ? *like : (struct volt_options){0};

    runtime_sentinel_usec = s->seed % 4 == 0 ? sentinel_usec : 0;
    s->runtimes = (workers + STRESS_PER_RUNTIME - 1) / STRESS_PER_RUNTIME;
    for (unsigned i = 0; i < s->runtimes; i++) {
        opt.workers = workers / s->runtimes + (i < workers % s->runtimes);
        opt.seed = s->seed + i + 1;
        CHECK(volt_runtime_new(&opt, &s->rt[i]) == 0);
    }
}

void stress_stop(struct stress *s)
{
    for (unsigned i = 0; i < s->runtimes; i++)
        CHECK(volt_runtime_shutdown(s->rt[i], UINT64_MAX) == 0);
}

void stress_free(struct stress *s)
{
    for (unsigned i = 0; i < s->runtimes; i++)
        volt_runtime_free(s->rt[i]);
    s->runtimes = 0;
}

struct volt_stats stress_stats(const struct stress *s)
{
    struct volt_stats sum = {0};

    for (unsigned i = 0; i < s->runtimes; i++) {
        struct volt_stats st;

        volt_runtime_stats(s->rt[i], &st);
        sum.spawned += st.spawned;
        sum.completed += st.completed;
        sum.cancelled += st.cancelled;
        sum.live += st.live;
        sum.global_depth += st.global_depth;
        sum.timers += st.timers;
        sum.io_handles += st.io_handles;
        sum.workers += st.workers;
        sum.workers_parked += st.workers_parked;
        sum.total.stolen += st.total.stolen;
        sum.total.parked += st.total.parked;
        sum.total.overflows += st.total.overflows;
    }
    return sum;
}

uint64_t stress_random(uint64_t *seed, uint64_t below)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % below;
}

/* splitmix64 */
uint64_t stress_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * UINT64_C(0x9E3779B97F4A7C15) + b + 1;

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return z ? z : 1;
}

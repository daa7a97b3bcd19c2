/* See harness.h. Nothing here knows a runtime. */
#include "bench/harness.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RUNS = 99 };

static unsigned workers = 2;
static double patience = INFINITY; /* after which no further repetition is begun */
static sem_t gate;

void bench_die(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

unsigned bench_workers(void)
{
    return workers;
}

unsigned bench_processors(void)
{
    unsigned online = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);

    return workers < online ? workers : online;
}

uint64_t bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double bench_per_op(uint64_t start, uint64_t operations)
{
    return (double)(bench_now() - start) / (double)operations;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double q)
{
    size_t at = (size_t)(q * (double)n);

    qsort(values, n, sizeof(*values), by_value);
    return values[at < n ? at : n - 1];
}

void bench_sleep(uint64_t ns)
{
    struct timespec t = {0, (long)ns};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

void bench_burn(uint64_t ns)
{
    uint64_t end = bench_now() + ns;

    while (bench_now() < end)
        ;
}

uint64_t bench_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct bench_load bench_load_begin(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (struct bench_load){.switches = (double)(u.ru_nvcsw + u.ru_nivcsw),
                               .preempted = (double)u.ru_nivcsw,
                               .start = bench_now()};
}

void bench_load_end(const struct bench_load *l, uint64_t operations, double *ret)
{
    double n = (double)operations / 1000;
    struct bench_load now;

    ret[0] = bench_per_op(l->start, operations);
    now = bench_load_begin();
    ret[1] = (now.switches - l->switches) / n;
    ret[2] = (now.preempted - l->preempted) / n;
}

uint64_t bench_resident(void)
{
    unsigned long total, resident;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%lu %lu", &total, &resident) != 2)
        bench_die("cannot read /proc/self/statm");
    (void)fclose(f);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What the other threads have done so far: times on a processor, nanoseconds on it. */
static void other_threads(uint64_t *ret_switches, uint64_t *ret_ns)
{
    DIR *tasks = opendir("/proc/self/task");
    char path[64];

    if (!tasks)
        bench_die("cannot read /proc/self/task");
    *ret_switches = *ret_ns = 0;
    for (struct dirent *e; (e = readdir(tasks));) {
        unsigned long long ns, waited, slices;
        FILE *f;

        if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
            continue;
        (void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", e->d_name);
        f = fopen(path, "re");
        if (!f)
            continue; /* it has just ended */
        if (fscanf(f, "%llu %llu %llu", &ns, &waited, &slices) == 3) {
            *ret_switches += slices;
            *ret_ns += ns;
        }
        (void)fclose(f);
    }
    (void)closedir(tasks);
}

void bench_idle(double seconds, double *ret_switches, double *ret_cpu_usec)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    uint64_t switches[2], ns[2];

    other_threads(&switches[0], &ns[0]);
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
    other_threads(&switches[1], &ns[1]);
    *ret_switches = (double)(switches[1] - switches[0]) / seconds;
    *ret_cpu_usec = (double)(ns[1] - ns[0]) / 1000 / seconds;
}

void bench_gate_open(void)
{
    sem_post(&gate);
}

void bench_gate_wait(void)
{
    while (sem_wait(&gate) < 0 && errno == EINTR)
        ;
}

bool bench_gate_comes(void)
{
    struct timespec t;
    int r;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += BENCH_NEVER_SECONDS;
    while ((r = sem_clockwait(&gate, CLOCK_MONOTONIC, &t)) < 0 && errno == EINTR)
        ;
    return r == 0;
}

static void print_number(const char *key, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.4g", key, value);
    else
        printf(", \"%s\": null", key);
}

static void print_metric(const char *who, const struct bench_workload *w,
                         const struct bench_metric *m, double *samples, size_t runs)
{
    double sorted[MAX_RUNS];

    memcpy(sorted, samples, runs * sizeof(*samples));
    printf(
        "{\"workload\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", \"who\": \"%s\", "
        "\"workers\": %u",
        w->name, m->name, m->unit, who, workers);
    print_number("median", bench_quantile(sorted, runs, 0.5));
    print_number("min", sorted[0]);
    print_number("max", sorted[runs - 1]);
    if (m->limit)
        print_number("limit", m->limit());
    if (m->more_is_better)
        printf(", \"more_is_better\": true");
    printf(", \"samples\": [");
    for (size_t i = 0; i < runs; i++)
        printf("%s%.4g", i ? ", " : "", samples[i]);
    printf("]}\n");
    (void)fflush(stdout);
}

static void measure(const char *who, const struct bench_workload *w, size_t runs)
{
    double samples[BENCH_METRICS][MAX_RUNS], one[BENCH_METRICS];
    uint64_t start = bench_now();
    size_t n = 0;

    if (w->once)
        runs = 1;
    else
        w->run(w, one);
    do {
        w->run(w, one);
        for (size_t k = 0; k < BENCH_METRICS; k++)
            samples[k][n] = one[k];
    } while (++n < runs && (double)(bench_now() - start) < patience * 1e9);
    for (size_t k = 0; k < BENCH_METRICS && w->metrics[k].name; k++)
        print_metric(who, w, &w->metrics[k], samples[k], n);
}

static bool wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int bench_main(int argc, char **argv, const char *who, const struct bench_workload *w,
               size_t count)
{
    size_t runs = 7;
    bool list = false;
    int first = 1;

    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "--list") == 0)
            list = true;
        else if (strcmp(argv[first], "--runs") == 0 && first + 1 < argc)
            runs = strtoul(argv[++first], NULL, 10);
        else if (strcmp(argv[first], "--seconds") == 0 && first + 1 < argc)
            patience = strtod(argv[++first], NULL);
        else if (strcmp(argv[first], "--workers") == 0 && first + 1 < argc)
            workers = (unsigned)strtoul(argv[++first], NULL, 10);
        else
            bench_die(
                "usage: [--runs N] [--seconds S] [--workers N] [--list] [WORKLOAD...]");
    }
    if (runs < 1 || runs > MAX_RUNS || workers < 1)
        bench_die("1 to 99 runs and at least one worker");
    sem_init(&gate, 0, 0);
    for (size_t i = 0; i < count; i++) {
        if (!wanted(w[i].name, argv + first, argc - first))
            continue;
        if (list)
            puts(w[i].name);
        else
            measure(who, &w[i], runs);
    }
    return 0;
}

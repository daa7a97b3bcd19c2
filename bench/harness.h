/* The frame of every benchmark program written in C or C++: those of libvolt and of the
 * peers alike. A workload is run once to warm up and then --runs times; each metric of it
 * becomes one JSON line with median, least and most, all samples, and the limit that the
 * hardware sets, measured in the same process.
 *
 *   PROGRAM [--runs N] [--seconds S] [--workers N] [--list] [WORKLOAD...]
 *
 * After S seconds no further repetition of a workload is begun.
 *
 * A peer of another language prints the same lines; bench/run reads nothing else. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_METRICS = 4 };

/* One cell of the table. The most important one of a workload comes first. */
struct bench_metric {
    const char *name; /* NULL: no more metrics */
    const char *unit;
    double (*limit)(void); /* NULL: none */
    bool more_is_better;
};

struct bench_workload {
    const char *name;
    struct bench_metric metrics[BENCH_METRICS];
    /* Stores one value per metric. What it prepares before it starts its clock is
     * free. */
    void (*run)(const struct bench_workload *w, double *ret);
    int arg;   /* for run functions that serve several workloads */
    bool once; /* needs a process of its own: neither warmed up nor repeated */
};

/* Runs the workloads that the arguments name, or all. Returns main's exit status. */
int bench_main(int argc, char **argv, const char *who, const struct bench_workload *w,
               size_t count);

unsigned bench_workers(void);    /* --workers, 2 if not given */
unsigned bench_processors(void); /* as many as these can use */
uint64_t bench_now(void);        /* monotonic nanoseconds */
/* Nanoseconds per operation since start. */
double bench_per_op(uint64_t start, uint64_t operations);
/* The q-quantile, 0 <= q <= 1, of n > 0 values; sorts them. */
double bench_quantile(double *values, size_t n, double q);
/* Sleeps so many nanoseconds, less than a second. */
void bench_sleep(uint64_t ns);
/* Uses the processor for so many nanoseconds of wall time. */
void bench_burn(uint64_t ns);
/* CPU time of this process so far, in nanoseconds. */
uint64_t bench_cpu(void);
/* Of a load: nanoseconds per operation; and per 1,000 operations, of this whole process, the
 * switches of threads, and those of them in which the system took the processor from a
 * thread that could go on. _end stores them in this order. */
struct bench_load {
    double switches, preempted;
    uint64_t start;
};
struct bench_load bench_load_begin(void);
void bench_load_end(const struct bench_load *l, uint64_t operations, double *ret);
#define BENCH_LOAD_METRICS                                                               \
    {"switches", "/1000", NULL, false},                                                  \
    {                                                                                    \
        "preempted", "/1000", NULL, false                                                \
    }
/* Resident bytes of this process. */
uint64_t bench_resident(void);
/* Sleeps for `seconds` and answers, per second, the switches of every thread but the main
 * one, and the microseconds of CPU they used. */
void bench_idle(double seconds, double *ret_switches, double *ret_cpu_usec);
/* Ends the program with a message. */
void bench_die(const char *what) __attribute__((noreturn));

/* A gate: main waits until somebody opens it. One waiter, one opening at a time. */
void bench_gate_open(void);
void bench_gate_wait(void);
/* The same, but false when nobody has opened it for so long that the answer is
 * "never". */
enum { BENCH_NEVER_SECONDS = 3 };
bool bench_gate_comes(void);

#ifdef __cplusplus
}
#endif

#endif

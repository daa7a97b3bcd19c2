/* The pool that everybody writes first: threads, one list, a mutex and a condition. Its
 * tasks are calls. */
#ifndef BENCH_NAIVE_H
#define BENCH_NAIVE_H

#include "bench/harness.h"

struct call {
    void (*run)(struct call *c); /* owns c */
    struct call *next;
    long n;
};

/* Queues c. Any thread. */
void put(struct call *c);
/* Queues a new call, which run frees. */
void spawn(void (*run)(struct call *c), long n);
/* A process runs one workload, with one number of threads; they are never stopped. */
void start_pool(unsigned threads);
void start_default(void);

/* Counts the calls of a workload down; the last one opens the gate for main. */
void expect(long n);
void done(void);

/* So many calls, and when all have run the next so many; returns at the end. */
void waves(long size, long count);
/* As bench_load.c; of naive_fib arg is the number. */
void naive_echo(const struct bench_workload *w, double *ret);
void naive_skew(const struct bench_workload *w, double *ret);
void naive_fib(const struct bench_workload *w, double *ret);
void naive_fork_10k(const struct bench_workload *w, double *ret);
void naive_join_set(const struct bench_workload *w, double *ret);
/* As bench_time.c. */
void naive_canary(const struct bench_workload *w, double *ret);

#endif

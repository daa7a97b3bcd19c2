/* What the clients of the daemon's benchmarks share: time, errors, and the quantiles that
 * they print. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Microseconds of `clock`. */
uint64_t clock_us(clockid_t clock);
/* Seconds of CLOCK_MONOTONIC. */
double seconds(void);
/* Prints what failed, with errno, and ends the program with 1. */
_Noreturn void die(const char *what);

/* Sorts n samples, the least first. */
void sort_times(double *us, size_t n);
/* Sorts n samples in microseconds; prints "KEY_p50_us": X, "KEY_p99_us": Y, "KEY_max_us": Z. */
void print_times(const char *key, double *us, size_t n);

/* One client of many: submits `jobs` jobs one at a time, the first has the number `first`,
 * and stores the microseconds of each call. */
struct client {
    pthread_t thread;
    long first, jobs;
    double *us;
    int durable; /* what the last reply said */
};

/* Runs `clients` threads of submit(client) with jobs / clients jobs each. Prints a JSON
 * object: durable, per_second, call_p50_us, call_p99_us. */
void submit_by(long jobs, long clients, void *(*submit)(void *client));

/* See sampling.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/daemon/sampling.h"

enum { MAX_CLIENTS = 256 };

void die(const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
                  strerror(errno));
    exit(1);
}

uint64_t clock_us(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

double seconds(void)
{
    return (double)clock_us(CLOCK_MONOTONIC) / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void sort_times(double *us, size_t n)
{
    qsort(us, n, sizeof(*us), by_value);
}

void print_times(const char *key, double *us, size_t n)
{
    sort_times(us, n);
    printf("\"%s_p50_us\": %.1f, \"%s_p99_us\": %.1f, \"%s_max_us\": %.1f", key,
           us[n / 2], key, us[n * 99 / 100], key, us[n - 1]);
}

void submit_by(long jobs, long clients, void *(*submit)(void *client))
{
    struct client all[MAX_CLIENTS];
    double *us = calloc((size_t)jobs, sizeof(*us)), start = seconds();

    if (!us || clients < 1 || clients > MAX_CLIENTS || jobs < clients)
        die("arguments");
    for (long i = 0; i < clients; i++) {
        all[i] = (struct client){.first = i * (jobs / clients), .jobs = jobs / clients};
        all[i].us = us + all[i].first;
        if (pthread_create(&all[i].thread, NULL, submit, &all[i]) != 0)
            die("thread");
    }
    for (long i = 0; i < clients; i++)
        pthread_join(all[i].thread, NULL);
    jobs = jobs / clients * clients;
    printf("{\"durable\": %s, \"per_second\": %.0f, ", all[0].durable ? "true" : "false",
           (double)jobs / (seconds() - start));
    print_times("call", us, (size_t)jobs);
    printf("}\n");
    free(us);
}

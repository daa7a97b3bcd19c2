/* A thread of C, unknown to the runtime of Go: it sleeps, it looks at the clock, it
 * knocks. */
#ifndef BENCH_OUTSIDE_H
#define BENCH_OUTSIDE_H

#include <time.h>

void nap(long ns);
/* Knocks n times, with pauses; ret_ns: how long it took from the knock until what it made
 * happen. */
void knock_often(int n, long pause_ns, long *ret_ns);

static inline long now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif

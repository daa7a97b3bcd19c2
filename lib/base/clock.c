/* The clock of all timers. */
#include "base/clock.h"

#include <sys/resource.h>
#include <time.h>
#include <volt/runtime.h>

uint64_t clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail for this clock */
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t volt_now_usec(void)
{
    return clock_ns() / 1000;
}

uint64_t clock_preemptions(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_THREAD, &u); /* cannot fail for this thread */
    return (uint64_t)u.ru_nivcsw;
}

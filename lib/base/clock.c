/* The clock of all timers. */
#include "base/clock.h"

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

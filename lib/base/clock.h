/* Monotonic nanoseconds: the clock of volt_now_usec(), finer. */
#ifndef VOLT_BASE_CLOCK_H
#define VOLT_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);

/* Counts on at some rate, for less than half of the price of the clock, where the
 * processor has such a counter. A thread that moves to another one may see it jump.
 * Models, which repeat their runs, have the clock. */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__) && !defined(VOLT_MCX)
    return __builtin_ia32_rdtsc();
#else
    return clock_ns();
#endif
}

/* How often the system has taken the processor from the calling thread for another one. A
 * system call. */
#ifdef VOLT_MCX
static inline uint64_t clock_preemptions(void)
{
    return 0;
}
#else
uint64_t clock_preemptions(void);
#endif

#endif

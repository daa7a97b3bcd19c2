/* Monotonic nanoseconds: the clock of volt_now_usec(), finer. */
#ifndef VOLT_BASE_CLOCK_H
#define VOLT_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ns(void);

#endif

/* How many polls may pass between two looks at the global queue: the number that takes
 * about 1 ms at the present length of a poll (G-5), which is a moving average.
 *
 * The average learns from run segments: n polls without maintenance, search or sleep in
 * between. A segment of n polls weighs as much as n samples would: 1 - 0.9^n (F-A5). */
#ifndef VOLT_SCHED_GLOBAL_INTERVAL_H
#define VOLT_SCHED_GLOBAL_INTERVAL_H

#include <stdint.h>

struct global_interval {
    double avg_ns;
    uint32_t polls; /* 8..255 */
};

void global_interval_init(struct global_interval *v);
/* n polls took ns together. No change for n == 0. */
void global_interval_update(struct global_interval *v, uint32_t n, uint64_t ns);

#endif

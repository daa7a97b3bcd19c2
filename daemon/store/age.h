/* Ages history by a clock that may be wrong.
 *
 * A wall clock that jumps ahead by years makes all history old at once. Jobs purged then
 * do not come back when the clock is set right. So nothing ages:
 *
 *   for AGE_AFTER_START after the start   a clock that was wrong at boot is set by then
 *   for AGE_AFTER_JUMP after a jump       the clock went ahead by more than half of the
 *                                         retention time, and has not gone back
 *
 * If the retention time is shorter than such a pause, the pause is as long as the
 * retention time. A smaller jump makes some history old too early.
 *
 * Pure: times are arguments. `elapsed` is CLOCK_BOOTTIME, which is never set. */
#ifndef VOLTD_STORE_AGE_H
#define VOLTD_STORE_AGE_H

#include <stdbool.h>
#include <stdint.h>

#define AGE_AFTER_START (UINT64_C(3600) * 1000000)
#define AGE_AFTER_JUMP  (24 * AGE_AFTER_START)

struct age {
    uint64_t wall, elapsed;   /* at the latest call; wall 0: no call yet */
    uint64_t since, patience; /* nothing ages for `patience` after `since` */
};

void age_start(struct age *a, uint64_t elapsed_usec);

/* Returns the time before which a job must have ended to be old enough to leave; 0: no
 * job is. All times in us. *ret_jumped: the wall clock jumped ahead since the last
 * call. */
uint64_t age_limit(struct age *a, uint64_t wall_usec, uint64_t elapsed_usec,
                   uint64_t keep_usec, bool *ret_jumped);

#endif

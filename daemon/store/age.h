/* The time by which history ages, under a clock that may be wrong.
 *
 * A clock that goes ahead by years makes all history old at once, and what was deleted
 * then does not come back with the right time. So nothing ages in the first hour, in
 * which a clock that was wrong at boot is set, and for a day after it has gone ahead by
 * more than half of what is kept, unless it goes back before. Where less is kept than
 * that, it is waited for as long as is kept. Smaller steps make a part of it old early.
 *
 * Pure: times are arguments. Elapsed is by a clock that nobody sets, CLOCK_BOOTTIME. */
#ifndef VOLTD_STORE_AGE_H
#define VOLTD_STORE_AGE_H

#include <stdbool.h>
#include <stdint.h>

#define AGE_AFTER_START (UINT64_C(3600) * 1000000)
#define AGE_AFTER_JUMP  (24 * AGE_AFTER_START)

struct age {
    uint64_t wall, elapsed;   /* at the latest look; wall 0: there was none */
    uint64_t since, patience; /* nothing ages for so long after that */
};

void age_start(struct age *a, uint64_t elapsed_usec);

/* What ended before the time that is returned has been kept for long enough; 0: nothing.
 * *ret_jumped: the clock has gone too far ahead since the last look. */
uint64_t age_limit(struct age *a, uint64_t wall_usec, uint64_t elapsed_usec,
                   uint64_t keep_usec, bool *ret_jumped);

#endif

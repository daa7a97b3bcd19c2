/* A sketch of durations: a histogram of their logarithms, of 256 bytes for any number of
 * them.
 *
 * A bucket is a quarter of an octave, so a duration read from it is wrong by at most a
 * fifth. When the sketch has SKETCH_MOST durations, all counts are halved, so that the
 * latest ones count most.
 *
 * Pure. */
#ifndef VOLTD_ADMIT_SKETCH_H
#define VOLTD_ADMIT_SKETCH_H

#include <stdint.h>

#define SKETCH_BUCKETS 125
#define SKETCH_MOST    512
#define SKETCH_POINTS  32

/* Zeroes: empty. */
struct sketch {
    uint32_t n;   /* durations added so far */
    uint16_t sum; /* sum of the counts */
    uint16_t counts[SKETCH_BUCKETS];
};
_Static_assert(sizeof(struct sketch) == 256, "as the name of a user's job costs");

void sketch_add(struct sketch *s, uint64_t usec);
/* Returns SKETCH_POINTS durations of equal weight, in order. The sketch must not be
 * empty. */
void sketch_points(const struct sketch *s, uint64_t ret[SKETCH_POINTS]);

#endif

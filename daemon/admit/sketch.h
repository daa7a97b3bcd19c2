/* A sketch of how long things took: a histogram of times by their logarithms, in 256
 * bytes however many there were.
 *
 * A bucket is a quarter of an octave, so that a time read from it is wrong by a fifth at
 * most. When it has SKETCH_MOST times all counts are halved: the latest count most.
 *
 * Pure. */
#ifndef VOLTD_ADMIT_SKETCH_H
#define VOLTD_ADMIT_SKETCH_H

#include <stdint.h>

#define SKETCH_BUCKETS 125
#define SKETCH_MOST    512
#define SKETCH_POINTS  32

/* Zeroes: nothing was added. */
struct sketch {
    uint32_t n;   /* added so far */
    uint16_t sum; /* of the counts */
    uint16_t counts[SKETCH_BUCKETS];
};
_Static_assert(sizeof(struct sketch) == 256, "as the name of a user's job costs");

void sketch_add(struct sketch *s, uint64_t usec);
/* SKETCH_POINTS times of equal weight, in order. Something was added. */
void sketch_points(const struct sketch *s, uint64_t ret[SKETCH_POINTS]);

#endif

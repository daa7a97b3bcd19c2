/* See sketch.h. */
#include "daemon/admit/sketch.h"

#define LEAST   UINT64_C(4096) /* us; shorter times are in the first bucket */
#define OCTAVES 31             /* up to 101 days */

_Static_assert(4 * OCTAVES + 1 == SKETCH_BUCKETS, "a bucket for each quarter");

/* Begins of the quarters of an octave from 65536 to 131072. */
static const uint64_t quarters[] = {65536, 77936, 92682, 110218};

static unsigned bucket_of(uint64_t usec)
{
    unsigned octave = 0;

    if (usec < LEAST)
        return 0;
    if (usec >= LEAST << OCTAVES)
        usec = (LEAST << OCTAVES) - 1;
    while (usec >= LEAST << (octave + 1))
        octave++;
    const uint64_t part = (usec << 9) / (LEAST << octave) * 128;
    return 1 + 4 * octave + (part >= quarters[1]) + (part >= quarters[2]) +
           (part >= quarters[3]);
}

/* Returns the least time of a bucket. */
static uint64_t begin_of(unsigned bucket)
{
    if (bucket == 0)
        return 0;
    return (UINT64_C(1) << (bucket - 1) / 4) * quarters[(bucket - 1) % 4] /
           (65536 / LEAST);
}

static void halve(struct sketch *s)
{
    s->sum = 0;
    for (unsigned i = 0; i < SKETCH_BUCKETS; i++) {
        s->counts[i] /= 2;
        s->sum = (uint16_t)(s->sum + s->counts[i]);
    }
}

void sketch_add(struct sketch *s, uint64_t usec)
{
    if (s->sum >= SKETCH_MOST)
        halve(s);
    s->counts[bucket_of(usec)]++;
    s->sum++;
    s->n += s->n < UINT32_MAX;
}

/* Spreads the times of a bucket evenly over it. */
void sketch_points(const struct sketch *s, uint64_t ret[SKETCH_POINTS])
{
    unsigned bucket = 0;
    uint64_t before = 0; /* times in buckets before it, times SKETCH_POINTS * 2 */

    for (unsigned i = 0; i < SKETCH_POINTS; i++) {
        const uint64_t at = (2 * i + 1) * (uint64_t)s->sum;
        uint64_t here = 2 * SKETCH_POINTS * (uint64_t)s->counts[bucket];

        while (before + here <= at) {
            before += here;
            here = 2 * SKETCH_POINTS * (uint64_t)s->counts[++bucket];
        }
        const uint64_t from = begin_of(bucket), to = begin_of(bucket + 1);
        ret[i] = from + (to - from) * ((at - before) * 1024 / here) / 1024;
    }
}

/* Victim selection: xorshift64+ with the shifts 17, 7, 16 of the Volt documentation, one
 * generator per worker. Not for secrets. */
#ifndef VOLT_BASE_RNG_H
#define VOLT_BASE_RNG_H

#include <stdint.h>

#define RNG_GOLDEN UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio */

struct rng {
    uint32_t one, two; /* never both zero: the sequence would stay there */
};

/* A sequence of its own for each index (S-3). */
static inline void rng_init(struct rng *r, uint64_t seed, uint32_t index)
{
    seed += index * RNG_GOLDEN;
    r->one = (uint32_t)(seed >> 32);
    r->two = (uint32_t)seed;
    if (r->one == 0 && r->two == 0)
        r->two = 1;
}

static inline uint32_t rng_next(struct rng *r)
{
    uint32_t s1 = r->one, s0 = r->two;

    s1 ^= s1 << 17;
    s1 = s1 ^ s0 ^ (s1 >> 7) ^ (s0 >> 16);
    r->one = s0;
    r->two = s1;
    return s0 + s1;
}

/* In [0, n), n > 0. The bias is at most n / 2^32, nothing among workers (S-4). */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)(((uint64_t)rng_next(r) * n) >> 32);
}

#endif

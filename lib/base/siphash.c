/* See siphash.h. Names and constants are those of the paper; the 128-bit output is that
 * of the authors' reference code. */
#include "base/siphash.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

int siphash_key_random(struct siphash_key *ret)
{
    ssize_t n = getrandom(ret, sizeof(*ret), 0);

    if (n < 0)
        return -errno;
    return n == (ssize_t)sizeof(*ret) ? 0 : -EIO;
}

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct siphash *h)
{
    h->v0 += h->v1;
    h->v2 += h->v3;
    h->v1 = rotate(h->v1, 13) ^ h->v0;
    h->v3 = rotate(h->v3, 16) ^ h->v2;
    h->v0 = rotate(h->v0, 32);
    h->v2 += h->v1;
    h->v0 += h->v3;
    h->v1 = rotate(h->v1, 17) ^ h->v2;
    h->v3 = rotate(h->v3, 21) ^ h->v0;
    h->v2 = rotate(h->v2, 32);
}

static inline void take_word(struct siphash *h, uint64_t word)
{
    h->v3 ^= word;
    sip_round(h);
    sip_round(h);
    h->v0 ^= word;
}

static inline uint64_t load_word(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return le64toh(word);
}

static inline uint64_t load_half(const uint8_t *p)
{
    uint32_t half;

    memcpy(&half, p, sizeof(half));
    return le32toh(half);
}

/* The n < 8 bytes at p as the low ones of a word: two loads that may overlap, without a
 * loop. */
static inline uint64_t load_tail(const uint8_t *p, size_t n)
{
    if (n >= 4)
        return load_half(p) | load_half(p + n - 4) << (8 * (n - 4));
    if (n == 0)
        return 0;
    return (uint64_t)p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) |
           (uint64_t)p[n - 1] << (8 * (n - 1));
}

void siphash_init64(struct siphash *h, const struct siphash_key *key)
{
    *h = (struct siphash){.v0 = key->k0 ^ UINT64_C(0x736f6d6570736575),
                          .v1 = key->k1 ^ UINT64_C(0x646f72616e646f6d),
                          .v2 = key->k0 ^ UINT64_C(0x6c7967656e657261),
                          .v3 = key->k1 ^ UINT64_C(0x7465646279746573)};
}

void siphash_init128(struct siphash *h, const struct siphash_key *key)
{
    siphash_init64(h, key);
    h->v1 ^= 0xee;
}

/* In the registers of its callers, of which short texts are most. */
__attribute__((always_inline)) static inline struct siphash
add(struct siphash s, const uint8_t *p, size_t n)
{
    size_t had = s.n & 7, fill = had ? 8 - had : 0;

    s.n += n;
    if (had) {
        fill = fill < n ? fill : n;
        s.tail |= load_tail(p, fill) << (8 * had);
        p += fill;
        n -= fill;
        if (had + fill < 8)
            return s;
        take_word(&s, s.tail);
    }
    for (; n >= 8; p += 8, n -= 8)
        take_word(&s, load_word(p));
    s.tail = load_tail(p, n);
    return s;
}

void siphash_add(struct siphash *h, const void *bytes, size_t n)
{
    *h = add(*h, bytes, n);
}

void siphash_add_number(struct siphash *h, uint64_t number)
{
    uint64_t word = htole64(number);

    siphash_add(h, &word, sizeof(word));
}

/* The last word: the bytes that are left, and the length. */
static inline void take_end(struct siphash *h, uint8_t mark)
{
    take_word(h, h->tail | h->n << 56);
    h->v2 ^= mark;
    for (int i = 0; i < 4; i++)
        sip_round(h);
}

static inline uint64_t sum(const struct siphash *h)
{
    return h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
}

uint64_t siphash_end64(struct siphash *h)
{
    take_end(h, 0xff);
    return sum(h);
}

struct siphash128 siphash_end128(struct siphash *h)
{
    struct siphash128 ret;

    take_end(h, 0xee);
    ret.lo = sum(h);
    h->v1 ^= 0xdd;
    for (int i = 0; i < 4; i++)
        sip_round(h);
    ret.hi = sum(h);
    return ret;
}

uint64_t siphash64(const struct siphash_key *key, const void *bytes, size_t n)
{
    struct siphash h;

    siphash_init64(&h, key);
    h = add(h, bytes, n);
    take_end(&h, 0xff);
    return sum(&h);
}

struct siphash128 siphash128(const struct siphash_key *key, const void *bytes, size_t n)
{
    struct siphash h;

    siphash_init128(&h, key);
    siphash_add(&h, bytes, n);
    return siphash_end128(&h);
}

uint64_t siphash64_number(const struct siphash_key *key, uint64_t number)
{
    uint64_t word = htole64(number);

    return siphash64(key, &word, sizeof(word));
}

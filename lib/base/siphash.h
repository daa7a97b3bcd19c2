/* SipHash-2-4 (Aumasson and Bernstein, 2012): the hash for whatever a client chooses.
 *
 * Under a key that nobody outside knows, nobody can choose inputs that meet in a table,
 * nor two inputs of one hash. A hash without a key gives that away, and so does one whose
 * rounds let differences of two inputs cancel out under every key. Use no
 * other in lib, daemon and client for what a client chooses.
 *
 * A table takes 64 bits to find the place and compares the bytes themselves. Where the
 * bytes are not kept, 128 bits stand for them: among n different inputs two are taken for
 * one with a probability of n^2 / 2^129, which is 2^-69 for a billion.
 *
 * Not for what is read by a later process or another machine, unless the key is kept
 * beside it. Pure; any thread. */
#ifndef VOLT_BASE_SIPHASH_H
#define VOLT_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t k0, k1;
};

/* 128 bits that stand for bytes. */
struct siphash128 {
    uint64_t lo, hi; /* lo: 64 bits for the place in a table */
};

/* A key that nobody can guess, from the kernel. 0; -errno. */
int siphash_key_random(struct siphash_key *ret);

uint64_t siphash64(const struct siphash_key *key, const void *bytes, size_t n);
struct siphash128 siphash128(const struct siphash_key *key, const void *bytes, size_t n);

/* The hash of a number: of its eight bytes, the lowest first. */
uint64_t siphash64_number(const struct siphash_key *key, uint64_t number);

/* Bytes in pieces: init, any number of adds, one end. The cuts between pieces leave no
 * trace; where they matter, the lengths are to be added as well. */
struct siphash {
    uint64_t v0, v1, v2, v3;
    uint64_t tail; /* the bytes behind the last whole word */
    uint64_t n;    /* bytes so far */
};

void siphash_init64(struct siphash *h, const struct siphash_key *key);
void siphash_init128(struct siphash *h, const struct siphash_key *key);
void siphash_add(struct siphash *h, const void *bytes, size_t n);
void siphash_add_number(struct siphash *h, uint64_t number);
uint64_t siphash_end64(struct siphash *h);
struct siphash128 siphash_end128(struct siphash *h);

#endif

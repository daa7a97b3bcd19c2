/* Idempotency keys: which job a user's key stands for, so that a submission that is sent
 * once more finds the first one.
 *
 * Keys and bodies are kept as 64-bit hashes with a random seed: two of them are taken for
 * one with a probability of 2^-64 per pair, and nobody can aim at it. An entry is claimed
 * by a submission on its way (`claim`, no id yet), then belongs to a job. Open
 * addressing; pure; the manager's lock guards it. */
#ifndef VOLTD_EXEC_KEYS_H
#define VOLTD_EXEC_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/job/spec.h"

struct keys_entry {
    uint64_t key;      /* hash; 0: free */
    uint64_t body;     /* hash of the spec without its key */
    uint64_t id;       /* 0: claimed */
    const void *claim; /* by whom */
};

/* Zero-initialised is empty. */
struct keys {
    uint64_t
        seed; /* set before the first use, then never written: read without the lock */
    struct keys_entry *entries;
    size_t n, capacity;
};

/* Any thread, without the lock: both look at the seed alone. */
uint64_t keys_hash(const struct keys *k, uid_t uid, const char *key);
/* 0; -ENOMEM. */
int keys_hash_body(uint64_t seed, const struct job_spec *spec, uint64_t *ret);
/* NULL: there is none. Borrowed until the next put or remove. */
struct keys_entry *keys_find(const struct keys *k, uint64_t key);
/* The key must be new. NULL: no memory. */
struct keys_entry *keys_put(struct keys *k, uint64_t key);
void keys_remove(struct keys *k, uint64_t key);
void keys_fini(struct keys *k);

#endif

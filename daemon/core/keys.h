/* Idempotency keys: which job a user's key stands for, so that a repeated submission
 * finds the first one.
 *
 * A key is stored as its name: SipHash-128 over user, length and bytes, under a secret of
 * the store. The packed spec is stored as the same kind of hash. The bytes are not
 * stored: they are in the job's spec, which may be packed, in the store, or not yet part
 * of a job. So 128 bits decide. Among n keys two collide with a probability of n^2 /
 * 2^129 (2^-89 for a million), two bodies under one key with 2^-128. Without the
 * secret no client can search for a collision.
 *
 * An entry is first claimed by a submission (`claim`, no id), then belongs to a job; it
 * costs 64 bytes of heap and a bucket. The entry outlives the job in memory and in
 * history, until the store reports that its row is gone (store/key_row.h). A store that
 * keeps nothing has no rows: there the entry stays until the job is forgotten on demand.
 * Pure; core.lock guards it. */
#ifndef VOLTD_CORE_KEYS_H
#define VOLTD_CORE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/siphash.h"
#include "daemon/core/users.h"
#include "daemon/job/spec.h"

struct keys_entry {
    struct hash_node node; /* hash: the low half of the name */
    uint64_t name_hi;      /* the high half */
    struct siphash128
        body;          /* of the spec, without what belongs to one submission alone */
    uint64_t id;    /* 0: only claimed */
    uint32_t claim; /* age of the submission that claims it; 0: none does */
    uid_t uid;      /* the owner */
};

/* Zero-initialised is empty, with a secret of zeroes. */
struct keys {
    struct siphash_key secret; /* set before the first use, then constant: read without
                                * the lock */
    struct hash_table table;
    struct users *users; /* in which keys are counted; NULL: they are not */
    uint32_t claimers;   /* the latest age */
};

/* State for hashing specs one after the other: many share an environment, which is sorted
 * and hashed once. Zero-initialised is new. */
struct keys_bodies {
    const struct job_env *env; /* the latest; borrowed, so its spec must stay */
    struct siphash128 env_hash;
    size_t bytes; /* hashed so far */
};

/* Returns the name of a key, never zeroes, which stand for no key. Any thread, without
 * the lock, as keys_body(): both read only the secret. */
struct siphash128 keys_name(const struct keys *k, uid_t uid, const char *key);
/* Computes the hash of a spec. Returns 0 or -ENOMEM. */
int keys_body(const struct keys *k, const struct job_spec *spec, struct keys_bodies *b,
              struct siphash128 *ret);

static inline bool keys_same(struct siphash128 a, struct siphash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

static inline bool keys_is_name(struct siphash128 name)
{
    return name.lo || name.hi;
}

/* Returns the entry of a name, borrowed until it is removed. NULL: none. */
struct keys_entry *keys_find(const struct keys *k, struct siphash128 name);
/* Adds an entry for a new name of this user. NULL: no memory. */
struct keys_entry *keys_put(struct keys *k, struct siphash128 name, uid_t uid);
/* Returns the age of a new submission, never 0. Ages wrap: keys_is_older() is right for
 * submissions with fewer than 2^31 others begun between them. */
uint32_t keys_new_age(struct keys *k);
bool keys_is_older(uint32_t a, uint32_t b);
/* Removes and frees the entry. */
void keys_remove(struct keys *k, struct keys_entry *e);
/* Removes the key of this job, if the entry is still this job's. One that is claimed is
 * the claim's alone from then on. */
void keys_free(struct keys *k, struct siphash128 name, uint64_t id);
void keys_fini(struct keys *k);

#endif

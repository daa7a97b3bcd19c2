/* Idempotency keys: which job a user's key stands for, so that a submission that is sent
 * once more finds the first one.
 *
 * A key is kept as its name, SipHash-128 over the user, the length and the bytes under
 * the secret of this start, and what was submitted with it as the same hash of the packed
 * spec. The bytes themselves are not kept: those of a key are in the job's spec, which
 * may be packed, in the store, or, of a submission on its way, not a job's at all. So 128
 * bits decide. Of n keys two are taken for one with a probability of n^2 / 2^129 (2^-89
 * for a million), two bodies under one key with 2^-128, and without the secret nobody can
 * aim.
 *
 * An entry is claimed by a submission on its way (`claim`, no id yet), then belongs to a
 * job: 64 bytes of heap and a bucket. Pure; core's lock guards it. */
#ifndef VOLTD_CORE_KEYS_H
#define VOLTD_CORE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/siphash.h"
#include "daemon/job/spec.h"

struct keys_entry {
    struct hash_node node; /* hash: the low half of its name */
    uint64_t name_hi;      /* the high half */
    struct siphash128
        body;          /* of the spec: what belongs to one submission alone excepted */
    uint64_t id;       /* 0: claimed */
    const void *claim; /* by this submission */
};

/* The keys of jobs that have been forgotten, the latest `capacity` of them: a ring. */
struct old_keys {
    struct old_key {
        uint64_t name_lo, id; /* id 0: none */
    } * ring;
    uint64_t capacity, at;
};

/* Zero-initialised is empty, with a secret that everybody knows. */
struct keys {
    struct siphash_key secret; /* set before the first use, then never written: read
                                * without the lock */
    struct hash_table table;
    struct old_keys old;
    uint64_t claimers; /* submissions that claimed keys so far */
};

/* Specs that are hashed one after the other: many of them share an environment, which is
 * sorted and hashed once. Zero-initialised is new. */
struct keys_bodies {
    const struct job_env *env; /* the latest; it is borrowed: its spec stays */
    struct siphash128 env_hash;
    size_t bytes; /* that have been hashed */
};

/* Any thread, without the lock: they look at the secret alone. A name is never zeroes,
 * which stand for no key. */
struct siphash128 keys_name(const struct keys *k, uid_t uid, const char *key);
/* 0; -ENOMEM. */
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

/* NULL: there is none. Borrowed until it is removed. */
struct keys_entry *keys_find(const struct keys *k, struct siphash128 name);
/* The entry of this job, of whose name only the low half is known; NULL: it has none. */
struct keys_entry *keys_find_of_job(const struct keys *k, uint64_t name_lo, uint64_t id);
/* The name must be new. NULL: no memory. */
struct keys_entry *keys_put(struct keys *k, struct siphash128 name);
/* Frees it. */
void keys_remove(struct keys *k, struct keys_entry *e);
/* The job with this key is forgotten. Its key stays known until `keep` others have been
 * forgotten after it. */
void keys_forget(struct keys *k, struct siphash128 name, uint64_t id, uint64_t keep);
void keys_fini(struct keys *k);

#endif

/* Idempotency keys: which job a user's key stands for, so that a submission that is sent
 * once more finds the first one.
 *
 * A key is kept as its name, SipHash-128 over the user, the length and the bytes under
 * a secret of the store, and what was submitted with it as the same hash of the packed
 * spec. The bytes themselves are not kept: those of a key are in the job's spec, which
 * may be packed, in the store, or, of a submission on its way, not a job's at all. So 128
 * bits decide. Of n keys two are taken for one with a probability of n^2 / 2^129 (2^-89
 * for a million), two bodies under one key with 2^-128, and without the secret nobody can
 * aim.
 *
 * An entry is claimed by a submission on its way (`claim`, no id yet), then belongs to a
 * job: 80 bytes of heap and a bucket. It stays when the job leaves memory and history,
 * until the store says that its row has gone (store/key_row.h). A store that keeps
 * nothing has no rows: then it stays until the job is forgotten on demand. Pure; core's
 * lock guards it. */
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
    struct hash_node node; /* hash: the low half of its name */
    uint64_t name_hi;      /* the high half */
    struct siphash128
        body;          /* of the spec: what belongs to one submission alone excepted */
    uint64_t id;       /* 0: claimed */
    const void *claim; /* by this submission */
    struct user *user; /* whose it is; NULL: it is not counted */
};

/* Zero-initialised is empty, with a secret that everybody knows. */
struct keys {
    struct siphash_key secret; /* set before the first use, then never written: read
                                * without the lock */
    struct hash_table table;
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
/* The name must be new. user: whose it is. NULL: no memory. */
struct keys_entry *keys_put(struct keys *k, struct siphash128 name, struct user *user);
/* Frees it. */
void keys_remove(struct keys *k, struct keys_entry *e);
/* The key of this job is free, unless another one has it or is about to. */
void keys_free(struct keys *k, struct siphash128 name, uint64_t id);
void keys_fini(struct keys *k);

#endif

/* A packed spec: the form of a queued job's spec in memory.
 *
 * A spec as a struct is a dozen allocations, about 500 bytes. Packed (spec_pack.h) it is
 * one, mostly below 100 bytes, and jobs share equal environments and long argvs. A spec
 * is unpacked when the job gets its slot, and for each question about it. */
#ifndef VOLTD_CORE_PACKED_H
#define VOLTD_CORE_PACKED_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash_table.h"
#include "base/siphash.h"
#include "daemon/job/spec.h"

struct shared;

enum shares_part { SHARES_ENV, SHARES_ARGV, SHARES_PARTS };

/* The shared parts, by their bytes. Clients choose the bytes, so the hash is keyed, and
 * parts of equal hash are compared byte by byte. */
struct shares {
    struct siphash_key secret; /* of this start; constant */
    pthread_mutex_t lock;      /* guards the rest */
    struct hash_table table;
    struct shared *latest[SHARES_PARTS]; /* the part last asked for; NULL: freed */
};

struct packed; /* immutable */

void shares_init(struct shares *s, const struct siphash_key *secret);
void shares_fini(struct shares *s); /* no packed spec may be left */

/* Returns a new packed spec. NULL: no memory. Any thread. */
struct packed *packed_new(struct shares *s, const struct job_spec *spec);
/* Returns a new spec in *ret. Returns 0 or -ENOMEM. */
int packed_unpack(const struct packed *d, struct job_spec **ret);
/* Does the same without environment, resource limits, input and script. *ret_n: bytes
 * unpacked. */
int packed_peek(const struct packed *d, struct job_spec **ret, size_t *ret_n);
void packed_free(struct packed *d); /* NULL allowed */

#endif

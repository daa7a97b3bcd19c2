/* A packed spec: what a job that waits in a queue is in memory.
 *
 * A spec as a struct is a dozen allocations, about 500 bytes; packed (spec_pack.h) it is
 * one, mostly below 100, and equal environments and long argvs are shared by all jobs. It
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

/* The parts in use, by their bytes. Clients choose these: the hash is a keyed one, and
 * what has it is compared byte by byte. */
struct shares {
    struct siphash_key secret; /* of this start; never written */
    pthread_mutex_t lock;      /* guards the rest */
    struct hash_table table;
    struct shared *latest[SHARES_PARTS]; /* asked for; NULL: gone */
};

struct packed; /* immutable */

void shares_init(struct shares *s, const struct siphash_key *secret);
void shares_fini(struct shares *s); /* no packed spec is left */

/* Returns new; NULL: no memory. Any thread. */
struct packed *packed_new(struct shares *s, const struct job_spec *spec);
/* Returns new in *ret. 0; -ENOMEM. */
int packed_unpack(const struct packed *d, struct job_spec **ret);
/* The same without the environment, the resource limits and the input. *ret_n: bytes that
 * were unpacked. */
int packed_peek(const struct packed *d, struct job_spec **ret, size_t *ret_n);
void packed_free(struct packed *d); /* NULL allowed */

#endif

/* A dormant spec: what a job that waits in a queue is in memory.
 *
 * A spec as a struct is a dozen allocations, about 500 bytes; packed (spec_pack.h) it is
 * one, mostly below 100, and equal environments and long argvs are shared by all jobs. It
 * is unpacked when the job gets its slot, and for each question about it. */
#ifndef VOLTD_EXEC_DORMANT_H
#define VOLTD_EXEC_DORMANT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/job/spec.h"

struct shared;

/* The parts in use, by their bytes. */
struct shares {
    pthread_mutex_t lock; /* guards all of it */
    struct shared **buckets;
    size_t n, nbuckets;
};

struct dormant; /* immutable */

void shares_init(struct shares *s);
void shares_fini(struct shares *s); /* no dormant spec is left */

/* Returns new; NULL: no memory. Any thread. */
struct dormant *dormant_new(struct shares *s, const struct job_spec *spec);
/* Returns new in *ret. 0; -ENOMEM. */
int dormant_wake(const struct dormant *d, struct job_spec **ret);
void dormant_free(struct dormant *d); /* NULL allowed */

#endif

/* Limits of a spec as bytes: those of its process, and those of its cgroup. */
#ifndef VOLTD_JOB_LIMITS_PACK_H
#define VOLTD_JOB_LIMITS_PACK_H

#include "daemon/job/pack.h"
#include "daemon/job/spec.h"

/* Packs values plus one: infinity, the most common limit, becomes 0. */
void rlimits_pack(const struct job_rlimits *l, struct pack *p);
/* Returns new; NULL: out of memory, as u says. */
struct job_rlimits *rlimits_unpack(struct unpack *u);
/* Packs the tag, the set of limits as bits, and their values. Packs nothing if no limit
 * is given. */
void cgroup_pack(struct job_cgroup c, uint64_t tag, struct pack *p);
/* Reads what follows the tag. */
void cgroup_unpack(struct unpack *u, struct job_cgroup *ret);

#endif

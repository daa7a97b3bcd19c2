/* See limits_pack.h. */
#include "daemon/job/limits_pack.h"

#include <stdlib.h>

void rlimits_pack(const struct job_rlimits *l, struct pack *p)
{
    pack_number(p, l->given);
    for (size_t i = 0; i < JOB_RLIMITS; i++) {
        if (!(l->given >> i & 1))
            continue;
        pack_number(p, l->soft[i] + 1);
        pack_number(p, l->hard[i] + 1);
    }
}

struct job_rlimits *rlimits_unpack(struct unpack *u)
{
    struct job_rlimits *l = calloc(1, sizeof(*l));

    u->failed |= u->no_memory |= !l;
    if (l)
        l->given = (uint32_t)unpack_number_max(u, (UINT32_C(1) << JOB_RLIMITS) - 1);
    for (size_t i = 0; !u->failed && i < JOB_RLIMITS; i++) {
        if (!(l->given >> i & 1))
            continue;
        l->soft[i] = unpack_number(u) - 1;
        l->hard[i] = unpack_number(u) - 1;
    }
    return l;
}

void cgroup_pack(struct job_cgroup c, uint64_t tag, struct pack *p)
{
    const uint32_t given = job_cgroup_given(&c);

    if (!given)
        return;
    pack_number(p, tag);
    pack_number(p, given);
    for (size_t i = 0; i < JOB_CGROUP_LIMITS; i++)
        if (given >> i & 1)
            pack_number(p, *job_cgroup_at(&c, i));
}

void cgroup_unpack(struct unpack *u, struct job_cgroup *ret)
{
    const uint64_t given = unpack_number_max(u, (UINT64_C(1) << JOB_CGROUP_LIMITS) - 1);

    for (size_t i = 0; i < JOB_CGROUP_LIMITS && !u->failed; i++)
        if (given >> i & 1)
            *job_cgroup_at(ret, i) = unpack_number(u);
}

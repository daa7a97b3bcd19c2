/* See limit_defaults.h. */
#include "daemon/core/limit_defaults.h"

#include <stdlib.h>

#include "daemon/core/state.h"

struct limit_defaults *limit_defaults_new(size_t n)
{
    struct limit_defaults *d = calloc(1, sizeof(*d) + n * sizeof(d->some[0]));

    if (!d)
        return NULL;
    d->n = n;
    job_cgroup_init(&d->all);
    return d;
}

void limit_defaults_free(struct limit_defaults *d)
{
    for (size_t i = 0; d && i < d->n; i++)
        queue_allowed_fini(&d->some[i].who);
    free(d);
}

bool limit_defaults_any(const struct limit_defaults *d)
{
    bool any = d && job_cgroup_given(&d->all);

    for (size_t i = 0; d && i < d->n; i++) {
        struct job_cgroup c = d->some[i].cgroup;

        for (size_t k = 0; k < JOB_CGROUP_LIMITS; k++)
            any |= *job_cgroup_at(&c, k) < LIMIT_NOT_SAID;
    }
    return any;
}

/* Fills in the limits that are LIMIT_NOT_SAID so far, from the users or groups of the
 * list that include this owner. The first matching group of the configuration counts. */
static void add(const struct limit_defaults *d, enum queue_list of,
                const struct job_owner *owner, struct job_cgroup *ret)
{
    for (size_t i = 0; i < d->n; i++) {
        struct job_cgroup c = d->some[i].cgroup;

        if (d->some[i].of != of || !queue_allowed_has(&d->some[i].who, owner))
            continue;
        for (size_t k = 0; k < JOB_CGROUP_LIMITS; k++)
            if (*job_cgroup_at(ret, k) == LIMIT_NOT_SAID)
                *job_cgroup_at(ret, k) = *job_cgroup_at(&c, k);
    }
}

struct job_cgroup limit_defaults_of(const struct limit_defaults *d,
                                    const struct job_owner *owner)
{
    struct job_cgroup ret, all = d->all;

    for (size_t k = 0; k < JOB_CGROUP_LIMITS; k++)
        *job_cgroup_at(&ret, k) = LIMIT_NOT_SAID;
    add(d, QUEUE_USERS, owner, &ret);
    add(d, QUEUE_GROUPS, owner, &ret);
    for (size_t k = 0; k < JOB_CGROUP_LIMITS; k++)
        if (*job_cgroup_at(&ret, k) == LIMIT_NOT_SAID)
            *job_cgroup_at(&ret, k) = *job_cgroup_at(&all, k);
    return ret;
}

void limit_defaults_set(struct core *core, struct limit_defaults *d)
{
    limit_defaults_free(core->limit_defaults);
    core->limit_defaults = d;
}

void limit_defaults_take(struct core *core, const struct job_owner *owner,
                         struct job_spec *spec)
{
    if (core->limit_defaults && job_kinds[spec->kind].is_process)
        spec->cgroup_default = limit_defaults_of(core->limit_defaults, owner);
}

/* Reads what a running job uses from its cgroup: cgroups(7). voltd has these figures at
 * its end only. */
#ifndef VOLT_CLIENT_VOLTCTL_CGROUP_USAGE_H
#define VOLT_CLIENT_VOLTCTL_CGROUP_USAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_usage {
    uint64_t user_usec, system_usec;
    uint64_t memory, peak; /* bytes; 0: not counted */
};

/* Reads the figures of a job that has a pid. Returns false if it has no cgroup of its
 * own, or none that this program sees. */
bool cgroup_usage_get(const json_t *job, struct cgroup_usage *ret);

#endif

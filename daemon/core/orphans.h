/* Orphans: exit records of an earlier life of the daemon, of which the store knows no
 * job. The list is made at the start (life/orphan.c) and in order of its keys. */
#ifndef VOLTD_CORE_ORPHANS_H
#define VOLTD_CORE_ORPHANS_H

#include <stddef.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"

struct orphan {
    struct job_key key;
    struct job_status status; /* [L]; the rest never changes */
};

struct orphans {
    struct orphan *all;
    size_t n;
};

/* The newest attempt of a job or element; NULL: none is an orphan. */
struct orphan *orphans_find(const struct orphans *o, uint64_t id, int64_t index);

#endif

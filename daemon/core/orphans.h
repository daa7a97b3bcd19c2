/* Orphans: exit records of an earlier voltd whose jobs the store does not know. The list
 * is made at the start (life/orphan.c), in order of keys. */
#ifndef VOLTD_CORE_ORPHANS_H
#define VOLTD_CORE_ORPHANS_H

#include <stddef.h>
#include "daemon/job/job.h"
#include "daemon/job/key.h"

struct orphan {
    struct job_key key;
    struct job_status status; /* [L]; all else is constant */
};

struct orphans {
    struct orphan *all;
    size_t n;
};

/* Returns the newest attempt of a job or element. NULL: it is no orphan. */
struct orphan *orphans_find(const struct orphans *o, uint64_t id, int64_t index);

#endif

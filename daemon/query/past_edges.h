/* Ended jobs that a spec waits for (`after`), and how they ended. */
#ifndef VOLTD_QUERY_PAST_EDGES_H
#define VOLTD_QUERY_PAST_EDGES_H

#include <stddef.h>
#include "daemon/job/owner.h"
#include "daemon/job/quota.h"
#include "daemon/job/spec.h"

struct core;
struct volt_cx;

/* Sets in the spec, from edge *at on, how each ended job ended. Takes the lock, and reads
 * the store on behalf of the poll of cx; NULL: nothing runs yet. Charges the quota with
 * what it reads from the store. Returns:
 *   0: all edges done
 *   -ENOENT: the job of edge *at does not exist or has another owner
 *   -ENOMEM; -EBADMSG and other errors of the store */
int past_edges_look(struct volt_cx *cx, struct core *core, const struct job_owner *owner,
                    struct job_spec *spec, size_t *at, struct quota *quota);

#endif

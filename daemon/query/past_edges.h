/* The jobs that a spec waits for (`after`) and that are not among the live ones: how they
 * ended, from what memory or the store has of them. */
#ifndef VOLTD_QUERY_PAST_EDGES_H
#define VOLTD_QUERY_PAST_EDGES_H

#include <stddef.h>
#include "daemon/job/owner.h"
#include "daemon/job/spec.h"

struct core;
struct volt_cx;

/* Into the spec, from *at on: what is known of each of them. Takes the lock, and reads
 * the store on behalf of the poll that cx is of; NULL: nothing runs yet. 0: of all;
 * -ENOENT: *at is of no job, or of one that is not the owner's; -ENOMEM; -EBADMSG and
 * other errors of the store. *ret_read: of so many the store was asked. */
int past_edges_look(struct volt_cx *cx, struct core *core, const struct job_owner *owner,
                    struct job_spec *spec, size_t *at, size_t *ret_read);

#endif

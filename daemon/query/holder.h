/* Which job or process of its user's has what a waiter is short of. */
#ifndef VOLTD_QUERY_HOLDER_H
#define VOLTD_QUERY_HOLDER_H

#include <stdint.h>
#include <sys/types.h>

struct core;
struct reason;

#define HOLDERS_LOOKED_AT 48 /* jobs, and leases */

/* Fills in what holds the lock or the semaphore of a reason (admit/explain.h), as far as
 * it is the user's, and is found among the first that have any. Lock held. */
void holder_add(struct core *core, uid_t uid, uint64_t realtime, struct reason *r);

#endif

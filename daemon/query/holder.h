/* Finds which of the user's jobs or leases holds what a waiter needs. */
#ifndef VOLTD_QUERY_HOLDER_H
#define VOLTD_QUERY_HOLDER_H

#include <stdint.h>
#include <sys/types.h>

struct core;
struct reason;

#define HOLDERS_LOOKED_AT 48 /* jobs, and as many leases */

/* Sets the holder in a reason (admit/explain.h): what holds its lock or semaphore, if
 * that is the user's and among the first HOLDERS_LOOKED_AT. Lock held. */
void holder_add(struct core *core, uid_t uid, uint64_t realtime, struct reason *r);

#endif

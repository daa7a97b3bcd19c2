/* Tells voltd what a client runs inside of: a job, which lends its slot while the client
 * waits (Wait of org.voltd.jobs), or the command of a volt-lock. */
#ifndef VOLT_CLIENT_INSIDE_H
#define VOLT_CLIENT_INSIDE_H

#include "client/client.h"

/* Environment variable that names the lease to its command: "ID SOCKET". */
#define INSIDE_LEASE "VOLT_LEASE"

/* Adds inside_job and inside_lease to a call that waits, if this process runs inside a
 * job or the command of a lease of the connected voltd. */
void inside_add(json_t *parameters, const struct client *c);

/* Likewise for a call that follows the output of job id. Adds nothing if that is the
 * job's own: a job may do that in the background without waiting, and would be
 * refused. */
void inside_add_for(json_t *parameters, const struct client *c, const char *id);

#endif

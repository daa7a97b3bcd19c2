/* What a client runs inside of: a job, which lends its slot while the client waits there
 * (Wait of org.voltd.jobs), or the command of a volt-lock. */
#ifndef VOLT_CLIENT_INSIDE_H
#define VOLT_CLIENT_INSIDE_H

#include "client/client.h"

/* Says to the command of a lease which it is for: "ID SOCKET". */
#define INSIDE_LEASE "VOLT_LEASE"

/* Adds inside_job and inside_lease to the parameters of a call that waits, if this runs
 * inside a job, or the command of a lease, of the voltd that is connected to. */
void inside_add(json_t *parameters, const struct client *c);

/* Whether this runs inside the job or element of that id of the voltd that is connected
 * to. */
bool inside_is_own(const struct client *c, const char *id);

#endif

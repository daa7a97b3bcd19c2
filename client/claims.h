/* Locks, semaphores and rates that a job claims, as volt-submit is told them. */
#ifndef VOLT_CLIENT_CLAIMS_H
#define VOLT_CLIENT_CLAIMS_H

#include <jansson.h>
#include <volt/error.h>

/* Each adds one to the claims of a spec. 0; -ENOMEM; -EINVAL with the reason. */

/* mode: exclusive or shared. */
int claims_add_lock(json_t *spec, const char *name, const char *mode,
                    struct volt_error *err);
/* NAME[:TAKE][/CAPACITY]; NAME has neither : nor /. */
int claims_add_permits(json_t *spec, const char *text, struct volt_error *err);
/* NAME=N/UNIT[,burst=B]. */
int claims_add_rate(json_t *spec, const char *text, struct volt_error *err);
/* The lock of the job's own name, as voltd shows it. */
int claims_add_own(json_t *spec, struct volt_error *err);

#endif

/* Parses the locks, semaphores and rates that a job claims, as options of volt-submit
 * name them. */
#ifndef VOLT_CLIENT_CLAIMS_H
#define VOLT_CLIENT_CLAIMS_H

#include <jansson.h>
#include <volt/error.h>

/* Each function adds a claim to a spec. Returns 0; -ENOMEM; or -EINVAL with the
 * reason. */

/* mode: "exclusive" or "shared". */
int claims_add_lock(json_t *spec, const char *name, const char *mode,
                    struct volt_error *err);
/* text: NAME[:TAKE][/CAPACITY], where NAME has neither : nor /. */
int claims_add_permits(json_t *spec, const char *text, struct volt_error *err);
/* text: NAME=N/UNIT[,burst=B]. */
int claims_add_rate(json_t *spec, const char *text, struct volt_error *err);
/* Claims the lock that has the job's name, as voltd shows the name. */
int claims_add_own(json_t *spec, struct volt_error *err);

#endif

/* Where a job would stand, were it submitted now: for volt-submit --dry-run. */
#ifndef VOLT_CLIENT_STANDING_H
#define VOLT_CLIENT_STANDING_H

#include "client/client.h"

#include <jansson.h>

/* Says what the job would wait for: other jobs, of which `checked` tells, the answer to a
 * dry run of Submit; its own conditions, its queue, slots, locks. One that would start at
 * once: a person is told. What goes wrong is silent. */
void standing_say(struct client *c, const json_t *spec, const json_t *checked);

#endif

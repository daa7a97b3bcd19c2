/* Where a job would stand, were it submitted now: for volt-submit --dry-run. */
#ifndef VOLT_CLIENT_STANDING_H
#define VOLT_CLIENT_STANDING_H

#include <jansson.h>

/* Says what the job would wait for, and for how long, from the answer to a dry run of
 * Submit. One that would start at once: a person is told. */
void standing_say(const json_t *answer);

#endif

/* Reports where a job would stand if it were submitted now: for volt-submit --dry-run. */
#ifndef VOLT_CLIENT_STANDING_H
#define VOLT_CLIENT_STANDING_H

#include <jansson.h>

/* Prints what the job would wait for and for how long, from the answer to a dry run of
 * Submit. That it would start at once is printed on a terminal only. */
void standing_say(const json_t *answer);

#endif

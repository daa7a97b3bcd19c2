/* Formats when a job will start, from the answer of Why or of a dry run of Submit. */
#ifndef VOLT_CLIENT_ESTIMATE_H
#define VOLT_CLIENT_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>

#define ESTIMATE_TEXT 128

/* Returns whether the job waits only for things that come with the end of other jobs. */
bool estimate_is_due(const json_t *answer);
/* Writes "in about 5m ...". Returns false if the start is unknown. */
bool estimate_text(const json_t *answer, char ret[ESTIMATE_TEXT]);

#endif

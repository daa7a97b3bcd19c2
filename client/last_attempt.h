/* Explains why a job gets no further attempt, though it may have more. */
#ifndef VOLT_CLIENT_LAST_ATTEMPT_H
#define VOLT_CLIENT_LAST_ATTEMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes "2 of 6 was the last: exit 9 is not in --retry-on". job: with its spec. Returns
 * false if the job has not ended, has had all its attempts, or the reason is unknown. */
bool last_attempt_text(const json_t *job, char *buf, size_t size);

#endif

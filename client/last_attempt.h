/* Why no further attempt of a job follows, though it could have had more. */
#ifndef VOLT_CLIENT_LAST_ATTEMPT_H
#define VOLT_CLIENT_LAST_ATTEMPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* "2 of 6 was the last: exit 9 is not in --retry-on". job: with its spec. False: it has
 * not ended, it has had all that it may have, or why there are no more is not known. */
bool last_attempt_text(const json_t *job, char *buf, size_t size);

#endif

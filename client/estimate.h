/* When a job starts, of what Why and a dry run of Submit answer. */
#ifndef VOLT_CLIENT_ESTIMATE_H
#define VOLT_CLIENT_ESTIMATE_H

#include <jansson.h>
#include <stdbool.h>

#define ESTIMATE_TEXT 128

/* It waits for nothing but what comes with the end of others. */
bool estimate_is_due(const json_t *answer);
/* "in about 5m ..."; false: it is unknown. */
bool estimate_text(const json_t *answer, char ret[ESTIMATE_TEXT]);

#endif

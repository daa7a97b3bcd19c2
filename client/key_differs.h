/* Explains why a key belongs to another job. */
#ifndef VOLT_CLIENT_KEY_DIFFERS_H
#define VOLT_CLIENT_KEY_DIFFERS_H

#include "client/client.h"

/* Prints the first three fields in which the spec differs from the job that has its key,
 * with both values. */
void key_differs_say(struct client *c, const json_t *spec, const char *id);

#endif

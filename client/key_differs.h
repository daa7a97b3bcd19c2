/* Why a key is that of another job. */
#ifndef VOLT_CLIENT_KEY_DIFFERS_H
#define VOLT_CLIENT_KEY_DIFFERS_H

#include "client/client.h"

/* Says the fields in which a spec differs from that of the job which has its key, with
 * both values, the first three. */
void key_differs_say(struct client *c, const json_t *spec, const char *id);

#endif

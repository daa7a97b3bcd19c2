/* A lost connection, tried again for a while. */
#ifndef VOLT_CLIENT_RECONNECT_H
#define VOLT_CLIENT_RECONNECT_H

#include "client/client.h"

/* How long, where nobody says it. */
#define RECONNECT_USEC UINT64_C(30000000)

/* Frees *c and connects anew, for up to limit_usec, saying so on standard error; 0 is not
 * at all. 0: *c is the new connection; -EINTR: interrupt was readable; -ECONNRESET: the
 * time is up. On failure *c is NULL. */
int reconnect(struct client **c, const struct address_choice *choice,
              enum address_endpoint which, uint64_t limit_usec, int interrupt);

#endif

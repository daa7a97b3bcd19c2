/* Reconnects for a while after a connection was lost. */
#ifndef VOLT_CLIENT_RECONNECT_H
#define VOLT_CLIENT_RECONNECT_H

#include "client/client.h"

/* The default time to try. */
#define RECONNECT_USEC UINT64_C(30000000)

/* Frees *c and connects again, for up to limit_usec (0: not at all), with messages on
 * standard error. A voltd that has no place for the connection is tried again. On
 * failure *c is NULL. Returns:
 *   0            *c is the new connection
 *   -EINTR       interrupt was readable
 *   -ECONNRESET  the time is over */
int reconnect(struct client **c, const struct address_choice *choice,
              enum address_endpoint which, uint64_t limit_usec, int interrupt);

#endif

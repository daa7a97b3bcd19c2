/* A voltd for this user, started by the first submission where none runs. */
#ifndef VOLT_CLIENT_AUTOSTART_H
#define VOLT_CLIENT_AUTOSTART_H

#include "client/client.h"

/* Whether client_open() failed because none runs, and one of this user's own would do: no
 * address names another one. */
bool autostart_helps(const struct address_choice *choice,
                     const struct client_tried *tried);
/* Starts `voltd --user` and connects to it. Of several at once one starts it; the others
 * wait until it answers, or until the one that starts it has ended. 0; negative, and
 * said. */
int autostart(const struct address_choice *choice, bool quiet, struct client **ret);

#endif

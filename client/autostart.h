/* Starts a voltd for this user at the first submission, if none runs. */
#ifndef VOLT_CLIENT_AUTOSTART_H
#define VOLT_CLIENT_AUTOSTART_H

#include "client/client.h"

/* Returns whether a voltd of this user would help: client_open() failed as none runs, and
 * no address names another one. */
bool autostart_helps(const struct address_choice *choice,
                     const struct client_tried *tried);
/* Starts `voltd --user` and connects to it. If several clients do so at once, one starts
 * it; the others wait until it answers or the starter has exited. Returns 0, or negative
 * after an error message. */
int autostart(const struct address_choice *choice, bool quiet, struct client **ret);

#endif

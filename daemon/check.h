/* voltd --check-store, voltd --accept-store. */
#ifndef VOLTD_CHECK_H
#define VOLTD_CHECK_H

#include "daemon/config/paths.h"

/* Verifies the store of these directories under their locks, prints each finding, and
 * returns the exit status: 0 sound, 1 damaged or not to be checked. */
int check_store(struct paths *p);
/* Accepts the store of these directories as it is, though it is not the one that its
 * witness has seen, and says what was accepted. The exit status: 0, also when there was
 * nothing to accept; 1. */
int accept_store(struct paths *p);

#endif

/* voltd --check-config, --check-store, --accept-store. */
#ifndef VOLTD_CHECK_H
#define VOLTD_CHECK_H

#include <stdbool.h>
#include "daemon/config/paths.h"

/* Reads the configuration as a start would, and prints every mistake in it. The exit
 * status: 0 none, 1. */
int check_config(const char *path, bool must_exist);
/* Verifies the store of these directories under their locks, prints each finding, and
 * returns the exit status: 0 sound, 1 damaged or not to be checked. */
int check_store(struct paths *p);
/* Accepts the store of these directories as it is, though it is not the one that its
 * witness has seen, and says what was accepted. The exit status: 0, also when there was
 * nothing to accept; 1. */
int accept_store(struct paths *p);

#endif

/* voltd --check-config, --check-store, --accept-store. */
#ifndef VOLTD_CHECK_H
#define VOLTD_CHECK_H

#include <stdbool.h>
#include "daemon/config/paths.h"

/* Reads the configuration as a start would and prints every mistake. Returns the exit
 * status: 0 without a mistake, otherwise 1. */
int check_config(const char *path, bool must_exist);
/* Verifies the store of these directories under their locks and prints each finding.
 * Returns the exit status: 0 sound, 1 damaged or not readable, 3 a voltd uses them. */
int check_store(struct paths *p);
/* Accepts the store of these directories although its witness has seen another one, and
 * prints what was accepted. Returns the exit status: 0, also if there was nothing to
 * accept, 1, or 3 if a voltd uses them. */
int accept_store(struct paths *p);

#endif

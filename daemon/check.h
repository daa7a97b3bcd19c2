/* voltd --check-store. */
#ifndef VOLTD_CHECK_H
#define VOLTD_CHECK_H

#include "daemon/paths.h"

/* Verifies the store of these directories under their locks, prints each finding, and
 * returns the exit status: 0 sound, 1 damaged or not to be checked. */
int check_store(struct paths *p);

#endif

/* A store that says that it is full, or fails; what is appended it takes all the same. One
 * at a time. */
#ifndef TESTS_SUPPORT_UNWELL_H
#define TESTS_SUPPORT_UNWELL_H

#include "daemon/store/commit_log.h"

extern struct store_health unwell; /* what it says */

/* From now on s says it; sound at first. */
void unwell_put(struct store *s);
/* The same in a table of a test's own. */
void unwell_health(struct store *s, struct store_health *ret);

#endif

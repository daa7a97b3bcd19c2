/* A store that keeps nothing beyond the process, for tests of what lies above the store:
 * every append is done at once, on the caller's thread. */
#ifndef TESTS_SUPPORT_MEMORY_STORE_H
#define TESTS_SUPPORT_MEMORY_STORE_H

#include "daemon/store/store.h"

/* Not durable; a restart knows no job. Returns new; NULL: no memory. */
struct store *store_memory_new(void);

#endif

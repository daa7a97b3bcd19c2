/* The index of the live jobs against their table. */
#ifndef TESTS_SUPPORT_RECOUNT_H
#define TESTS_SUPPORT_RECOUNT_H

#include <stdbool.h>

struct core;

/* Fails the test if the index has anything else than what the jobs of the table are now.
 * Where memory was short the labels of jobs that have left may still lead to their ids.
 * Takes the lock. */
void recount_index(struct core *core, bool memory_was_short);

#endif

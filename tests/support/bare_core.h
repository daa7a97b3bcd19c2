/* The live jobs without anything that runs: for tests of what happens under the lock. */
#ifndef TESTS_SUPPORT_BARE_CORE_H
#define TESTS_SUPPORT_BARE_CORE_H

#include "daemon/core/state.h"

/* Empty, with so many slots, and rooms without a keeper. rt, store: borrowed, or NULL. */
void bare_core_init(struct core *core, struct volt_runtime *rt, struct store *store,
                    uint32_t slots);
/* Frees its jobs and rooms; no task is left. */
void bare_core_fini(struct core *core);

#endif

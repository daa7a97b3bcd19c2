/* The live jobs in a scratch directory, for tests with jobs that need no process. One at a
 * time. Fails the test when something is wrong. */
#ifndef TESTS_SUPPORT_MANAGED_H
#define TESTS_SUPPORT_MANAGED_H

#include "daemon/config/config.h"
#include "daemon/life/life.h"
#include "daemon/query/query.h"
#include "daemon/steer/steer.h"
#include "daemon/submit/submit.h"
#include "tests/support/scratch.h"

extern char managed_dir[SCRATCH_MAX];
/* Set-up and tear-down of cmocka: the directory. */
int managed_make(void **state);
int managed_remove(void **state);

/* The defaults, with jobs in memory. */
struct config managed_config(void);
/* One life of it, on a runtime that goes with it. */
struct core *managed_start(const struct config *config, struct volt_runtime *rt);
/* The same with this store; NULL: the one of a daemon, on disk. */
struct core *managed_start_with(const struct config *config, struct volt_runtime *rt,
                                struct store *store);
void managed_stop(struct core *core, struct volt_runtime *rt);
/* All of it for set-up and tear-down: the directory, and one life on a runtime with one
 * worker (lone.h). 0; -1. */
int managed_up(const struct config *config, struct volt_runtime **ret_rt,
               struct core **ret_core);
/* The same on disk: memory keeps so many jobs that have ended, and what has left it is
 * read from the store. */
int managed_up_on_disk(uint64_t keep, struct volt_runtime **ret_rt,
                       struct core **ret_core);
int managed_down(struct core *core, struct volt_runtime *rt);

/* Returns whether the job is in memory, not in the store alone. */
bool managed_has(struct core *core, const struct asker *asker, uint64_t id);
/* Calls fn for up to limit jobs of those that are kept, from the cursor on: the walk to
 * its end, or to fn's first result that is not 0, which is returned. */
int managed_list(struct core *core, const struct asker *asker, const struct job_filter *f,
                 uint64_t cursor, size_t limit,
                 int (*fn)(void *arg, const struct job_view *v), void *arg,
                 uint64_t *ret_cursor);

#endif

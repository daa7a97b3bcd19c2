/* What an earlier voltd has left, and its replay by a bare core: a scratch directory with a
 * SQLite store that the test writes by hand, and a folder of records. One at a time. Fails
 * the test when something is wrong. */
#ifndef TESTS_SUPPORT_REPLAY_H
#define TESTS_SUPPORT_REPLAY_H

#include "tests/support/bare_core.h"
#include "tests/support/scratch.h"

extern char replay_dir[SCRATCH_MAX];
extern char replay_records[64];

/* Of each test: the directory. */
int replay_setup(void **state);
int replay_teardown(void **state);

/* Opened and loaded; boot 0: this one. */
struct store *replay_store(uint8_t boot);

/* What is replayed, before any task runs. */
void replay_load(struct core *core);
void replay_unload(struct core *core);

#endif

/* A random script of calls to a store, the same for each; what it answers is printed. The
 * simulator's store is to answer as SQLite does. */
#ifndef TESTS_SIM_SCRIPTS_SCRIPT_H
#define TESTS_SIM_SCRIPTS_SCRIPT_H

#include <stdint.h>

struct store;
struct store_commit;

/* --- of the store that is tested ---------------------------------------------------- */

/* Before the first and after the last store. */
void script_begin(void);
void script_end(void);
/* Opened, not loaded yet. boot, records: which of them this life has. */
struct store *script_open(uint8_t boot, uint8_t records);
/* The power fails: what is not durable is gone, and what is open is of another machine, to be
 * freed. The next one is opened on what is left. */
void script_cut(void);
/* Waits for the commit; its status. */
int script_await(struct store_commit *c);

/* --- script.c ------------------------------------------------------------------------ */

void script_run(uint64_t seed);

#endif

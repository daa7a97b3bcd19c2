/* A random script of requests to a keeper, the same for each: jobs that end by themselves,
 * wait for a signal or ignore one, removals, shims and keepers that are killed. What is answered, and what the records say when nothing moves
 * any more, is printed. The simulator's keeper, shims and records are to do as the real
 * ones. */
#ifndef TESTS_SIM_SCRIPTS_KEEPER_SCRIPT_H
#define TESTS_SIM_SCRIPTS_KEEPER_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/keeper/record.h"

/* What a job does. */
enum does {
    EXITS, /* at once, with code id % 5 */
    WAITS, /* for a signal */
    DEAF,  /* the same, and SIGTERM is none */
};

/* --- of the keeper that is tested --------------------------------------------------- */

void script_begin(void);
void script_end(void);
/* Its answers. */
int script_start(uint64_t id, enum does does);
int script_signal(uint64_t id, int sig, bool tree, bool *ret_unknown_left);
int script_remove(uint64_t id);
/* A new connection to the same keeper; the keeper is killed, and another one is there;
 * the shim of a job that runs is killed. */
void script_reconnect(void);
void script_kill_keeper(void);
void script_kill_shim(uint64_t id);
/* The record as it is; when the job runs, and is ready for its signal; when it is over. */
struct record script_look(uint64_t id);
void script_await_ready(uint64_t id);
void script_await_over(uint64_t id);
/* The directory of the records. */
int script_records(void);

#endif

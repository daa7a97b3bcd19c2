/* Recovery of the state of an earlier voltd from the store. */
#ifndef VOLTD_LIFE_RECOVER_H
#define VOLTD_LIFE_RECOVER_H

#include <stdint.h>
#include <volt/error.h>

struct core;

/* Replays the store into the table. *ret_max: the greatest job id in the store. Call at
 * the start, before there is any task. Blocks. */
int recover_load(struct core *core, uint64_t *ret_max, struct volt_error *err);
/* Starts the recovered jobs, once: queued jobs wait again, running ones are adopted. */
int recover_start(struct core *core);
/* Frees what recover_load() made for recover_start(). */
void recover_discard(struct core *core);
/* Returns a number that differs when the state of any job does; for tests. */
uint64_t recover_hash(struct core *core);

#endif

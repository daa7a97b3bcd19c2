/* The state of an earlier voltd, from the store. */
#ifndef VOLTD_LIFE_RECOVER_H
#define VOLTD_LIFE_RECOVER_H

#include <stdint.h>
#include <volt/error.h>

struct core;

/* Replays the store into the table; *ret_max: the greatest job id in it. Blocks; at
 * start, before any task. */
int recover_load(struct core *core, uint64_t *ret_max, struct volt_error *err);
/* Then, once: queued jobs wait again, running ones are adopted. */
int recover_start(struct core *core);
/* What recover_start() was not called for, and the rest of what a replay made. */
void recover_discard(struct core *core);
/* A number that differs when the state of any job does, for tests. */
uint64_t recover_hash(struct core *core);

#endif

/* Orphans at the start: which records have no job, and what becomes of these. */
#ifndef VOLTD_LIFE_ORPHAN_H
#define VOLTD_LIFE_ORPHAN_H

#include <stdint.h>
#include <volt/error.h>

struct core;

/* Lists the records without a job; *ret_max: the greatest job id among all. A record of
 * an attempt that has ended is remembered for orphans_start() to remove. Blocks; at
 * start, after recover_load(). */
int orphans_scan(struct core *core, const char *dir, uint64_t *ret_max,
                 struct volt_error *err);
/* Starts record removal, and a task for each orphan that still runs. */
int orphans_start(struct core *core);

#endif

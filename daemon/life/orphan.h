/* Orphans: exit records without a job, found at the start. */
#ifndef VOLTD_LIFE_ORPHAN_H
#define VOLTD_LIFE_ORPHAN_H

#include <stdint.h>
#include <volt/error.h>

struct core;

/* Lists the records without a job. *ret_max: the greatest job id of all records. Records
 * of attempts that have ended are noted for orphans_start() to remove. Call at the start,
 * after recover_load(). Blocks. */
int orphans_scan(struct core *core, const char *dir, uint64_t *ret_max,
                 struct volt_error *err);
/* Starts the removal of records, and a task for each orphan that still runs. */
int orphans_start(struct core *core);

#endif

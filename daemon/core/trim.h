/* Returns memory to the system after a burst of jobs.
 *
 * malloc returns only what is free at the end of its heap, where the newest jobs are:
 * after 100,000 jobs an idle voltd had 140 MB, with 28 MB in use. malloc_trim(3) returns
 * every free page. The call takes some milliseconds, so it runs once in a burst, on the
 * blocking pool. */
#ifndef VOLTD_CORE_TRIM_H
#define VOLTD_CORE_TRIM_H

#include <stdbool.h>

struct core;

/* Lock held. Returns true if many jobs have left the table and few are left: call
 * trim_begin(). */
bool trim_due(struct core *core);
/* Starts the trim. Not under the lock. */
void trim_begin(struct core *core);

#endif

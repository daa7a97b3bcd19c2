/* Memory goes back to the system when a burst of jobs is over.
 *
 * malloc gives back what is free at the end of its heap, and there the newest jobs are:
 * after 100,000 of them 140 MB stayed with an idle daemon, 28 MB were in use.
 * malloc_trim(3) gives back every free page; it takes some milliseconds, so it is not
 * done on a worker, and once in a burst. */
#ifndef VOLTD_CORE_TRIM_H
#define VOLTD_CORE_TRIM_H

#include <stdbool.h>

struct core;

/* Lock held. True: many jobs have left the table and few are left: trim_begin()
 * is due. */
bool trim_due(struct core *core);
/* Not under the lock. */
void trim_begin(struct core *core);

#endif

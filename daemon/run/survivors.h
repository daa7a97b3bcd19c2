/* Processes that SIGKILL has left of a job, by pid and start time: a pid alone may be
 * another process's by the time that it is looked for. Both are kept with the job's end.
 *
 * The start time is what /proc says of the process when voltd hears of it, unless that
 * began after it was seen alive: then it is another one already. 0: it could not be read;
 * whatever has the pid is taken for it. */
#ifndef VOLTD_RUN_SURVIVORS_H
#define VOLTD_RUN_SURVIVORS_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/job.h"

/* Adds the start times to the pids, which lived at that time of CLOCK_MONOTONIC. */
void survivors_note(struct job_named *named, uint64_t lived_usec);
/* Whether the i-th lives still. One that is only not reaped yet does not; one of which
 * /proc says nothing, as with hidepid, does if its pid is in use. */
bool survivor_lives(const struct job_named *named, size_t i);

#endif

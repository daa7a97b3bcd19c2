/* Survivors of a job, by pid and start time, as a pid may be another process's later.
 * Both are stored with the job's end.
 *
 * The start time is read from /proc when the survivor is reported to voltd. A process
 * that began after the survivor was seen alive is another one. Start time 0: it could not
 * be read, so any process with the pid counts. */
#ifndef VOLTD_RUN_SURVIVORS_H
#define VOLTD_RUN_SURVIVORS_H

#include <stdbool.h>
#include <stddef.h>
#include "daemon/job/job.h"

/* Adds the start times of the pids, which lived at that time of CLOCK_MONOTONIC. */
void survivors_note(struct job_named *named, uint64_t lived_usec);
/* Returns whether survivor i lives. A zombie does not live. If /proc hides the process
 * (hidepid), a pid that is in use counts. */
bool survivor_lives(const struct job_named *named, size_t i);

#endif

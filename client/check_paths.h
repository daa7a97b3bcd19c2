/* Whether the paths that a job names can be used, before it is submitted: without them it
 * could not be started, and nobody may be there to see it. */
#ifndef VOLT_CLIENT_CHECK_PATHS_H
#define VOLT_CLIENT_CHECK_PATHS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Looks for the directory, the standard input and the files of output and errors of this
 * spec. False: one is missing, is of a kind that voltd does not open, or is where the
 * account that the job runs as may not go, and problem says which. What this process may
 * not look at counts as there. */
bool check_paths(const json_t *spec, uid_t account, char *problem, size_t size);

#endif

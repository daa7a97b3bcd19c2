/* Checks the paths of a job before it is submitted: with wrong ones it could not start,
 * and perhaps no one would notice. */
#ifndef VOLT_CLIENT_CHECK_PATHS_H
#define VOLT_CLIENT_CHECK_PATHS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Checks the directory, the standard input, and the files for output and errors. Returns
 * false if one is missing, is of a kind that voltd does not open, or is not accessible to
 * this user, as whom the job runs; problem names it. A path that this process may not
 * look at counts as good. */
bool check_paths(const json_t *spec, char *problem, size_t size);

#endif

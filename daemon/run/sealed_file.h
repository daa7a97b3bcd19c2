/* Bytes that a job is given, as a file that nobody can change. */
#ifndef VOLTD_RUN_SEALED_FILE_H
#define VOLTD_RUN_SEALED_FILE_H

#include <stddef.h>
#include "daemon/job/spec.h"

/* Behind `before`, with its NUL, where that is not NULL. title: what /proc calls it.
 * Returns a new memfd, CLOEXEC, at its beginning; -errno. */
int sealed_file(const char *title, const char *before, const struct job_bytes *bytes);

#endif

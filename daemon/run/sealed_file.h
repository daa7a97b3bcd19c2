/* Bytes for a job, in a file that cannot change. */
#ifndef VOLTD_RUN_SEALED_FILE_H
#define VOLTD_RUN_SEALED_FILE_H

#include <stddef.h>
#include "daemon/job/spec.h"

/* Returns a new memfd, CLOEXEC, at its beginning; -errno. Contains `before` with its NUL,
 * if not NULL, then bytes. title: the name in /proc. */
int sealed_file(const char *title, const char *before, const struct job_bytes *bytes);

#endif

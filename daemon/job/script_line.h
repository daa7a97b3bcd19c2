/* Parses the first line of a stored script, which names its interpreter. Pure. */
#ifndef VOLTD_JOB_SCRIPT_LINE_H
#define VOLTD_JOB_SCRIPT_LINE_H

#include "daemon/job/spec.h"

#define SCRIPT_LINE_MAX 255 /* of the kernel's limit, with #! */

struct script_line {
    char interpreter[SCRIPT_LINE_MAX + 1];
    char argument[SCRIPT_LINE_MAX + 1]; /* "": none; the kernel passes at most one */
};

/* Parses the first line into *ret. Returns NULL, or the reason why the script cannot be
 * run, static. */
const char *script_line(const struct job_bytes *text, struct script_line *ret);
/* Returns the name for the script's file: that of the spec's command, or "script".
 * Borrowed. */
const char *script_name(const struct job_spec *s);

#endif

/* The first line of a script that is stored with its job: what runs it. Pure. */
#ifndef VOLTD_JOB_SCRIPT_LINE_H
#define VOLTD_JOB_SCRIPT_LINE_H

#include "daemon/job/spec.h"

#define SCRIPT_LINE_MAX 255 /* of the kernel's line, with its #! */

struct script_line {
    char interpreter[SCRIPT_LINE_MAX + 1];
    char argument[SCRIPT_LINE_MAX + 1]; /* "": none; the kernel gives one at most */
};

/* NULL, and *ret; or why it cannot be run, static. */
const char *script_line(const struct job_bytes *text, struct script_line *ret);
/* The name of its file: that of the spec's command, or "script". Borrowed. */
const char *script_name(const struct job_spec *s);

#endif

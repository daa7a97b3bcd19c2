/* The line that runs this voltd for another purpose, as a person types it. */
#ifndef VOLTD_AGAIN_H
#define VOLTD_AGAIN_H

#include <stdbool.h>
#include "wire/buffer.h"

struct again {
    const char *program;                 /* as it was called */
    bool system;                         /* mode: as its account, which root can become */
    const char *runtime_dir, *state_dir; /* NULL: the defaults */
};

/* Appends the line that runs it with this option, in the same mode, on the same
 * directories, with the same account, and a NUL. 0; -ENOMEM. */
int again_line(const struct again *a, const char *option, struct wire_buf *ret);

#endif

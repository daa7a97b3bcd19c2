/* Command line that runs this voltd again with an option, for a person to type. */
#ifndef VOLTD_AGAIN_H
#define VOLTD_AGAIN_H

#include <stdbool.h>
#include "wire/buffer.h"

struct again {
    const char *program;                 /* argv[0] */
    bool system;                         /* mode; root can run it as its account */
    const char *runtime_dir, *state_dir; /* NULL: the default */
};

/* Appends the line and a NUL: this program with option, in the same mode, on the same
 * directories, as the same account. Returns 0 or -ENOMEM. */
int again_line(const struct again *a, const char *option, struct wire_buf *ret);

#endif

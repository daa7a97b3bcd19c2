/* Makes a job for each line of a file: volt-submit --each-line. */
#ifndef VOLT_CLIENT_EACH_LINE_H
#define VOLT_CLIENT_EACH_LINE_H

#include "client/batch.h"

#include <stdbool.h>

/* Reads the lines of `in`, with `null` NUL-terminated texts, and makes an entry with its
 * number of each that is not empty. {} becomes the line in the command of spec, argv or
 * shell; in its name, key and output paths; in the values of its labels and of the
 * variables given for it; in the names of its claims. In shell the line is quoted for sh,
 * in a path it has _ for each slash. An argv without {} gets the line as its last
 * argument. Returns 0, and *b has to be finished; or negative with
 * the reason. */
int each_line_read(struct batch *b, const json_t *spec, FILE *in, bool null,
                   struct volt_error *err);

#endif

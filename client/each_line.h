/* Makes a job for each line of a file: volt-submit --each-line. */
#ifndef VOLT_CLIENT_EACH_LINE_H
#define VOLT_CLIENT_EACH_LINE_H

#include "client/batch.h"

#include <stdbool.h>

/* Reads the lines of `in`, with `null` NUL-terminated texts, and makes an entry with its
 * number of each that is not empty. {} becomes the line in the command of spec, argv or
 * shell, in its name and its key; in shell it is quoted for sh. An argv without {} gets
 * the line as its last argument. Returns 0, and *b has to be finished; or negative with
 * the reason. */
int each_line_read(struct batch *b, const json_t *spec, FILE *in, bool null,
                   struct volt_error *err);

#endif

/* A job for each line of a file: volt-submit --each-line. */
#ifndef VOLT_CLIENT_EACH_LINE_H
#define VOLT_CLIENT_EACH_LINE_H

#include "client/batch.h"

#include <stdbool.h>

/* Reads the lines of in, or with null what ends with a NUL byte each, and makes an entry
 * of each that is not empty, with its number.
 * {} in the command of spec, argv or shell, in its name and its key becomes the line,
 * quoted for sh in shell. An argv without {} gets it as its last argument. 0, and *b is
 * to be finished; negative with the reason. */
int each_line_read(struct batch *b, const json_t *spec, FILE *in, bool null,
                   struct volt_error *err);

#endif

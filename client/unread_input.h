/* Warns if volt-submit has a standard input that the job will not read. */
#ifndef VOLT_CLIENT_UNREAD_INPUT_H
#define VOLT_CLIENT_UNREAD_INPUT_H

#include <jansson.h>

/* Prints the warning if the submitted spec has a command but no standard input, while
 * that of this process is a pipe that is not at its end, or a file with bytes left. Reads
 * nothing, and never waits. */
void unread_input_remark(const json_t *spec);

#endif

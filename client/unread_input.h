/* A remark where volt-submit has a standard input that the job will not read. */
#ifndef VOLT_CLIENT_UNREAD_INPUT_H
#define VOLT_CLIENT_UNREAD_INPUT_H

#include <jansson.h>

/* Says so if spec, which was submitted, has a command and no standard input of its own,
 * while that of this process is a pipe that is not at its end, or a file with bytes left.
 * Reads nothing, and never waits. */
void unread_input_remark(const json_t *spec);

#endif

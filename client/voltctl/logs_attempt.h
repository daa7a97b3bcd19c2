/* Prints the output of one attempt of a job. */
#ifndef VOLT_CLIENT_VOLTCTL_LOGS_ATTEMPT_H
#define VOLT_CLIENT_VOLTCTL_LOGS_ATTEMPT_H

#include "client/printer.h"
#include "client/voltctl/ctl.h"

/* Prints it, on the open connection; stream: "stdout" or "stderr". Returns an exit code,
 * after an error message if it failed. */
int logs_attempt_print(struct ctl *ctl, const char *id, uint64_t number,
                       const char *stream, struct printer *p);

#endif

/* Prints what a job asks for, in the block of voltctl status. */
#ifndef VOLT_CLIENT_VOLTCTL_STATUS_SPEC_H
#define VOLT_CLIENT_VOLTCTL_STATUS_SPEC_H

#include <jansson.h>

/* Prints a line for each: elements at once, jobs to wait for, begin and start-by times,
 * time limit, locks, labels. Prints nothing without a spec. */
void status_spec_print(const json_t *job);

#endif

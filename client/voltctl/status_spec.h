/* What a job asks for, in the block of voltctl status. */
#ifndef VOLT_CLIENT_VOLTCTL_STATUS_SPEC_H
#define VOLT_CLIENT_VOLTCTL_STATUS_SPEC_H

#include <jansson.h>

/* Prints a line each: at most how many elements at once, jobs to wait for, when it begins
 * and is to have begun, how long it may run, locks, labels. Without a spec nothing. */
void status_spec_print(const json_t *job);

#endif

/* Options of volt-submit for which ends of a job are success, and whether and when it
 * runs again. */
#ifndef VOLT_CLIENT_SUBMIT_RETRY_H
#define VOLT_CLIENT_SUBMIT_RETRY_H

#include <jansson.h>

/* Adds an option (submit_table.h) to the spec. Returns 0; 1: not one of these options;
 * negative after an error message. */
int submit_retry_take(json_t *spec, int key, const char *arg);

#endif

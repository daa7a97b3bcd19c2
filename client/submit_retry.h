/* Options of volt-submit that say which ends of a job are success, and whether and when
 * it runs again. */
#ifndef VOLT_CLIENT_SUBMIT_RETRY_H
#define VOLT_CLIENT_SUBMIT_RETRY_H

#include <jansson.h>

/* Puts one option (submit_table.h) into the spec. 0; negative, and said; 1: it is none of
 * these. */
int submit_retry_take(json_t *spec, int key, const char *arg);

#endif

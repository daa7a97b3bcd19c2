/* Options of volt-submit for what a job waits for (a release, a time, other jobs) and for
 * its claims. */
#ifndef VOLT_CLIENT_SUBMIT_CONDITIONS_H
#define VOLT_CLIENT_SUBMIT_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>

/* Adds an option (submit_table.h) to the spec. Returns 0; 1: not one of these options;
 * negative after an error message. */
int submit_conditions_take(json_t *spec, int key, const char *arg);
/* Returns whether an option may be given several times with other values. */
bool submit_conditions_add_up(int key);
/* Checks whether the job could start with all its conditions. Returns 0, or negative
 * after an error message. */
int submit_conditions_check(const json_t *spec);
/* Adds the lock with the job's own name, once the name is known. Returns 0, or negative
 * after an error message. */
int submit_conditions_own_lock(json_t *spec);

#endif

/* Options of volt-submit that say what a job waits for: a release, a time, other jobs,
 * and what it claims. */
#ifndef VOLT_CLIENT_SUBMIT_CONDITIONS_H
#define VOLT_CLIENT_SUBMIT_CONDITIONS_H

#include <jansson.h>
#include <stdbool.h>

/* Puts one option (submit_table.h) into the spec. 0; negative, and said; 1: it is none of
 * these. */
int submit_conditions_take(json_t *spec, int key, const char *arg);
/* Whether an option may be given several times, each time with another value. */
bool submit_conditions_add_up(int key);
/* Whether it could start with all that it has. 0; negative, and said. */
int submit_conditions_check(const json_t *spec);
/* The lock of the job's own name, once that is known. 0; negative, and said. */
int submit_conditions_own_lock(json_t *spec);

#endif

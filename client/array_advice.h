/* Warns of an array whose command does not use its index, or has it where it is not
 * filled in. */
#ifndef VOLT_CLIENT_ARRAY_ADVICE_H
#define VOLT_CLIENT_ARRAY_ADVICE_H

#include <jansson.h>

/* Prints at most one line. */
void array_advice(const json_t *spec);

#endif

/* What is said of an array whose command has no use for its index, or says it where it
 * is not filled in. */
#ifndef VOLT_CLIENT_ARRAY_ADVICE_H
#define VOLT_CLIENT_ARRAY_ADVICE_H

#include <jansson.h>

/* Says at most one line. */
void array_advice(const json_t *spec);

#endif

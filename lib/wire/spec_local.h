/* Finds jobs of a batch that have a local name in it, or wait for a job by its local
 * name: such a batch is accepted as a whole or not at all. voltd and clients check the
 * JSON as it was given, so the answer holds even if the rest of the job cannot be
 * read. */
#ifndef VOLT_WIRE_SPEC_LOCAL_H
#define VOLT_WIRE_SPEC_LOCAL_H

#include <jansson.h>
#include <stdbool.h>

/* Returns whether the value has or uses a local name. The value need not be a spec, and
 * the name need not be valid; null is no name. */
bool spec_says_local(const json_t *spec);

#endif

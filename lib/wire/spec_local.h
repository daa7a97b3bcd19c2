/* Whether a job of a batch says that it has a local name there, or waits for another by
 * one: such a batch is taken whole, or not at all. voltd and its clients ask it of the
 * JSON as it was given, so that it holds also where nothing else of the job can be
 * read. */
#ifndef VOLT_WIRE_SPEC_LOCAL_H
#define VOLT_WIRE_SPEC_LOCAL_H

#include <jansson.h>
#include <stdbool.h>

/* Of any value, also one that is no spec; of a name also where it can be none. null is
 * none. */
bool spec_says_local(const json_t *spec);

#endif

/* Defaults of a batch: fields that its specs have in common are sent once (SubmitBatch of
 * org.voltd.jobs). */
#ifndef VOLT_WIRE_SPEC_DEFAULTS_H
#define VOLT_WIRE_SPEC_DEFAULTS_H

#include <jansson.h>

/* Adds to spec the fields of defaults that it lacks. env, labels and limits are merged by
 * name, and so are rlimits inside limits, unless the spec has one for "*". If the
 * defaults have env_given, names of the spec's own env join it. Fields of processes (env,
 * env_adds, cwd, umask, limits) are added to kind exec only.
 *
 * Values are shared with defaults: neither may be changed afterwards. Returns 0 or
 * -ENOMEM. */
int spec_add_defaults(json_t *spec, const json_t *defaults);

#endif

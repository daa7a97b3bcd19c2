/* Defaults of a batch: what its specs have in common is sent once (SubmitBatch of
 * org.voltd.jobs), instead of in each of them. */
#ifndef VOLT_WIRE_SPEC_DEFAULTS_H
#define VOLT_WIRE_SPEC_DEFAULTS_H

#include <jansson.h>

/* Gives spec the fields of defaults that it does not have itself. env, labels and limits
 * are merged by name, and so are rlimits inside limits, unless the spec has one for "*".
 * Variables of its own env join env_given, where the defaults have that. What
 * only a process has (env, env_adds, cwd, umask, limits) is not given to other kinds than
 * exec.
 *
 * Values are shared with defaults, not copied: neither may be changed afterwards. 0, or
 * -ENOMEM. */
int spec_add_defaults(json_t *spec, const json_t *defaults);

#endif

/* Job specs as JSON: type Spec of org.voltd.jobs. */
#ifndef VOLTD_METHOD_SPEC_JSON_H
#define VOLTD_METHOD_SPEC_JSON_H

#include "daemon/config/config.h"
#include "daemon/job/spec.h"
#include "wire/fields.h"

/* Reads one spec: fields, bounds, and what they demand of each other. Returns new in
 * *ret; -EINVAL or -ENOMEM with *err set, its path beginning inside the spec ("argv[0]").
 */
int spec_from_json(json_t *object, const struct config *config, struct job_spec **ret,
                   struct field_error *err);

/* What was submitted, without what equals the default. Returns new; NULL:
 * out of memory. */
json_t *spec_to_json(const struct job_spec *spec);

/* "kind" of org.voltd.jobs. */
extern const char *const spec_kind_names[];

#endif

/* The environment in a spec of JSON: what spec_json.c reads of it. */
#ifndef VOLTD_METHOD_ENV_JSON_H
#define VOLTD_METHOD_ENV_JSON_H

#include "wire/fields.h"

/* FIELD_CUSTOM: a struct job_env *. One that is there is what the value means:
 * spec_from_json(). */
int read_env(json_t *value, void *member, struct field_error *err);
/* FIELD_CUSTOM: names, sorted, a NULL-terminated char **. */
int read_env_given(json_t *value, void *member, struct field_error *err);

#endif

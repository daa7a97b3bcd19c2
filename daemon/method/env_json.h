/* Environments in JSON specs, read by spec_json.c. */
#ifndef VOLTD_METHOD_ENV_JSON_H
#define VOLTD_METHOD_ENV_JSON_H

#include "wire/fields.h"

/* Bytes of one argument or NAME=value, without its NUL: execve(2) takes no more. */
#define EXEC_STRING_MOST ((size_t)128 * 1024 - 1)

/* FIELD_CUSTOM: a struct job_env *. If it is set already, it stays the value:
 * spec_from_json(). */
int read_env(json_t *value, void *member, struct field_error *err);
/* FIELD_CUSTOM: sorted names, a NULL-terminated char **. */
int read_env_given(json_t *value, void *member, struct field_error *err);

#endif

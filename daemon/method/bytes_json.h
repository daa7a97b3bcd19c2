/* The fields `stdin_data` and `script` of a JSON spec, for spec_json.c. */
#ifndef VOLTD_METHOD_BYTES_JSON_H
#define VOLTD_METHOD_BYTES_JSON_H

#include "daemon/config/config.h"
#include "daemon/job/spec.h"
#include "wire/fields.h"
#include "wire/writer.h"

/* FIELD_CUSTOM: a struct job_bytes *. */
int read_input(json_t *value, void *member, struct field_error *err);
int read_script(json_t *value, void *member, struct field_error *err);
/* A script without a command has one word, which is its name. */
int name_script(struct job_spec *s, struct field_error *err);
/* That they are not longer than MaxStdin=. */
int check_bytes(const struct job_spec *s, const struct config *config,
                struct field_error *err);

/* The same the other way; nothing where there is none. */
void put_input(struct wire_writer *to, const struct job_spec *s);
void put_script(struct wire_writer *to, const struct job_spec *s);

#endif

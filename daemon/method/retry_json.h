/* Further attempts and success in JSON specs: composite fields. */
#ifndef VOLTD_METHOD_RETRY_JSON_H
#define VOLTD_METHOD_RETRY_JSON_H

#include "daemon/job/spec.h"
#include "wire/fields.h"
#include "wire/writer.h"

/* FIELD_CUSTOM: a list of exit codes, a struct job_codes; a list of results, a
 * uint32_t. */
int read_codes(json_t *value, void *member, struct field_error *err);
int read_retry_on(json_t *value, void *member, struct field_error *err);

/* Write the same; nothing for an empty set. */
void put_codes(struct wire_writer *to, const char *key, const struct job_codes *codes);
void put_results(struct wire_writer *to, const char *key, uint32_t results);

#endif

/* Job specs as JSON: type Spec of org.voltd.jobs. */
#ifndef VOLTD_METHOD_SPEC_JSON_H
#define VOLTD_METHOD_SPEC_JSON_H

#include "daemon/job/spec.h"
#include "wire/fields.h"
#include "wire/writer.h"
#include <stdint.h>

struct config;

/* Values of long fields that were parsed before. Borrowed; NULL: parse them. */
struct spec_known {
    struct job_env *env;
    const struct job_rlimits *rlimits;
};

/* Reads a spec: fields, bounds, and rules between fields. known: NULL allowed. Returns
 * new in *ret; -EINVAL or -ENOMEM with *err set, whose path begins inside the spec
 * ("argv[0]"). */
int spec_from_json(json_t *object, const struct config *config,
                   const struct spec_known *known, struct job_spec **ret,
                   struct field_error *err);

/* Fields of a spec that can be shown: all but those inside "limits", and on_exists, which
 * belongs to the submission. In a set, field x has bit SPEC_FIELD_x. */
enum spec_field {
#define SPEC_NUMBER(tag, member, json, least, most, fallback) SPEC_FIELD_##member,
#define SPEC_OCTAL(tag, member, json, most, fallback)         SPEC_FIELD_##member,
#define SPEC_SIGNED(tag, member, json, least, most)           SPEC_FIELD_##member,
#define SPEC_SIGNAL(tag, member, json, fallback)              SPEC_FIELD_##member,
#define SPEC_CHOICE(tag, member, json, last)                  SPEC_FIELD_##member,
#define SPEC_FLAG(tag, member, json)                          SPEC_FIELD_##member,
#define SPEC_TEXT(tag, member, json, least, most)             SPEC_FIELD_##member,
#define SPEC_OWN(tag, name, json)                             SPEC_FIELD_##name,
#define SPEC_GROUP(name, json)                                SPEC_FIELD_##name,
#include "daemon/job/spec_fields.def"
    SPEC_FIELDS
};
#define SPEC_ALL_FIELDS UINT64_MAX
/* JSON names by enum spec_field; ends with NULL. */
extern const char *const spec_field_names[];

/* Writes what was submitted, without default values: those fields that are in the set. */
void spec_write(struct wire_writer *to, const char *key, const struct job_spec *spec,
                uint64_t fields);

/* JSON names by enum job_claim_mode; ends with NULL. */
extern const char *const claim_mode_names[];

/* FIELD_CUSTOM: a signal, an int. */
int read_signal(json_t *value, void *member, struct field_error *err);
/* FIELD_CUSTOM: the claims of a struct job_spec. */
int read_claims(json_t *value, void *member, struct field_error *err);
/* FIELD_CUSTOM: `after` of a struct job_spec. */
int read_after(json_t *value, void *member, struct field_error *err);

#endif

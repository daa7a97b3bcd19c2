/* Changes to waiting jobs: types Changes and Edited of org.voltd.jobs. */
#ifndef VOLTD_METHOD_EDIT_JSON_H
#define VOLTD_METHOD_EDIT_JSON_H

#include <jansson.h>
#include "daemon/job/spec_edit.h"
#include "wire/fields.h"

/* Zero-initialised: no changes. */
struct edit_read {
    struct job_spec *spec; /* NULL: no changes were given */
    uint64_t tags;
    uint32_t limits; /* as in struct job_edit */
};

/* FIELD_CUSTOM: a struct edit_read. */
int read_changes(json_t *value, void *member, struct field_error *err);
void edit_read_fini(struct edit_read *c);

#endif

/* Options of volt-submit and `voltctl edit` that are members of a spec or of changes: a
 * row each, with option, member and type. */
#ifndef VOLT_CLIENT_FIELD_OPTIONS_H
#define VOLT_CLIENT_FIELD_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <volt/error.h>

/* Sets the member of an option (submit_table.h). edits: the object is of changes, where 0
 * and "none" reset times and sizes. Returns 0; 1: no option whose type has a row;
 * negative with the reason, which names the option. */
int field_option_take(json_t *object, int key, const char *text, bool edits,
                      struct volt_error *err);
/* Returns the option, such as "--chdir", that sets a member, of which `path` may be a
 * part: "after[0].job", "limits.pids_max". NULL: none. */
const char *field_option_of(const char *path);

#endif

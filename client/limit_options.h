/* The options --mem to --io-weight of volt-submit and `voltctl edit`: limits of the job's
 * cgroup, members of "limits" in JSON. */
#ifndef VOLT_CLIENT_LIMIT_OPTIONS_H
#define VOLT_CLIENT_LIMIT_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns `limits` of a spec or of changes, made if there are none. Borrowed. */
json_t *limits_in(json_t *spec);
/* Sets the limit of an option (submit_table.h). "none" is -1, if may_none. Returns 0; 1:
 * not one of these options; negative after an error message. */
int limit_option_take(json_t *spec, int key, const char *text, bool may_none);
/* Returns the option, such as "--mem", of member n of "limits" or by its name; NULL:
 * there is none. Likewise its name in JSON, by number. */
const char *limit_option_at(size_t n);
const char *limit_member_at(size_t n);
const char *limit_option_of(const char *member);
/* Writes the value of member n as its option takes it: "4G". Returns false if it is not
 * in `limits`. */
bool limit_option_text(const json_t *limits, size_t n, char *buf, size_t size);

#endif

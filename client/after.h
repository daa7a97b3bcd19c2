/* Parses the jobs that a job waits for, as options of volt-submit name them. */
#ifndef VOLT_CLIENT_AFTER_H
#define VOLT_CLIENT_AFTER_H

#include <jansson.h>
#include <stdbool.h>
#include <volt/error.h>

/* What is before a name or a key in place of an id. */
#define AFTER_NAME "name:"
#define AFTER_KEY  "key:"

struct client;

/* Adds the jobs of a text to the spec: 17, 12-40, @last, name:NAME or key:KEY, separated
 * by commas, blanks or line ends. when: as in volt-job(5). each: element to element.
 * Returns 0, or -EINVAL with the reason. */
int after_add(json_t *spec, const char *text, const char *when, bool each,
              struct volt_error *err);
/* Returns the text after such a prefix; NULL: the word has another beginning, or nothing
 * behind it. */
const char *after_behind(const char *word, const char *prefix);
/* Replaces @last by the newest job of this user, or by the list of jobs that it ends
 * (last_list.h). Replaces name:NAME by the newest job of that name. Returns 0, or
 * negative with the reason. */
int after_resolve(json_t *spec, struct client *c, struct volt_error *err);
/* Writes the edge for people: "17", "17 (any)". */
void after_format(const json_t *edge, char *buf, size_t size);

#endif

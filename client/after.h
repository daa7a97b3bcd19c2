/* Jobs that a job waits for, as volt-submit is told them. */
#ifndef VOLT_CLIENT_AFTER_H
#define VOLT_CLIENT_AFTER_H

#include <jansson.h>
#include <stdbool.h>
#include <volt/error.h>

struct client;

/* Adds the jobs of a text to the spec: 17, 12-40, @last, name:NAME or key:KEY, several
 * with commas, blanks or line ends between them. when: as in volt-job(5). 0; -EINVAL with
 * the reason. each: element to element. */
int after_add(json_t *spec, const char *text, const char *when, bool each,
              struct volt_error *err);
/* Puts the newest job of this user, or the list of jobs that it ends (last_list.h), in
 * the place of @last, and the newest job of that name in the place of name:NAME. 0;
 * negative with the reason. */
int after_resolve(json_t *spec, struct client *c, struct volt_error *err);
/* What is to be said of it: "17", "17 (any)". */
void after_format(const json_t *edge, char *buf, size_t size);

#endif

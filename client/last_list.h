/* The list of jobs (--each-line, --file) that this user submitted last, so that @last of
 * voltctl means all of them.
 *
 * The file `last` in the user's state directory has it: a line with the socket of the
 * voltd, then a range of ids per line, ascending. The list is valid while its last job is
 * the user's newest one, so any later submission by any client ends it. If the file is
 * missing, as it could not be written, @last is the newest job alone. */
#ifndef VOLT_CLIENT_LAST_LIST_H
#define VOLT_CLIENT_LAST_LIST_H

#include "client/client.h"

#include <stddef.h>

/* Writes the file for n jobs that this voltd has accepted. */
void last_list_note(const struct client *c, char *const *ids, size_t n);
/* Calls add for each range of the list whose last job is `newest`. Returns 1; 0: there is
 * no such list; or the first negative result of add. */
int last_list_each(const struct client *c, const char *newest,
                   int (*add)(void *arg, const char *range), void *arg);

#endif

/* The list of jobs (--each-line, --file) that this user has submitted last, so that @last
 * of voltctl means all of them.
 *
 * The file `last` in the user's state directory holds it: a line with the socket of the
 * voltd, then a range of ids a line, ascending. It counts while its last job is still the
 * user's newest one: any later submission, by whatever client, makes it void. Without the
 * file, which may not be writable, @last is the newest job alone. */
#ifndef VOLT_CLIENT_LAST_LIST_H
#define VOLT_CLIENT_LAST_LIST_H

#include "client/client.h"

#include <stddef.h>

/* Writes the file: n jobs, which this voltd has accepted. */
void last_list_note(const struct client *c, char *const *ids, size_t n);
/* Calls add for each range of the list whose last job is `newest`, until it returns
 * negative, which is returned. 1; 0: there is no such list. */
int last_list_each(const struct client *c, const char *newest,
                   int (*add)(void *arg, const char *range), void *arg);

#endif

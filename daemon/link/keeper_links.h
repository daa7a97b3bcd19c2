/* The links to keepers.
 *
 * Either there is one link for all jobs, to a keeper that voltd starts. Or there is a
 * link for each user, to the socket <dir>/<uid>, behind which systemd or another program
 * starts a keeper as that user. The first request for a user makes the link. Such a link
 * rests after ten minutes without work (keeper_link.h). */
#ifndef DAEMON_LINK_KEEPER_LINKS_H
#define DAEMON_LINK_KEEPER_LINKS_H

#include <sys/types.h>
#include "daemon/link/keeper_link.h"

struct keeper_links;

#define KEEPER_OF_NOBODY ((uid_t)-1) /* the job's owner is not known */

/* Opens the links. dir: absolute; NULL: one link for all, opened by keeper_link_open().
 * Borrows opt; with dir only its record_fd counts. Returns 0 with *ret, for
 * keeper_links_free(); -errno with a text in *err. */
int keeper_links_open(const char *dir, const struct keeper_link_options *opt,
                      struct volt_error *err, struct keeper_links **ret);
/* Starts the tasks of links. Links of single users report to *callbacks, which is copied.
 * Returns 0, -ENOMEM or -ESHUTDOWN. */
int keeper_links_start(struct keeper_links *links, struct volt_runtime *rt,
                       const struct keeper_callbacks *callbacks);
/* Frees all links like keeper_link_free(). NULL is allowed. */
void keeper_links_free(struct keeper_links *links, bool settled);

bool keeper_links_are_many(const struct keeper_links *links);
/* Returns the link to the keeper that runs jobs of uid, valid until keeper_links_free().
 * NULL: no memory, or there are several links and the owner is not known. After
 * keeper_links_start(). Any thread. */
struct keeper_link *keeper_links_of(struct keeper_links *links, uid_t uid);
/* Returns like keeper_link_away_usec(); 0 also for a link that was not made. Any
 * thread. */
uint64_t keeper_links_away_usec(struct keeper_links *links, uid_t uid);
/* Checks whether the user may have a keeper. Always 0 with one link for all. Any thread.
 * Returns:
 *   0
 *   -ENOENT  it has no socket
 *   -EPERM   root has no keeper
 *   -errno */
int keeper_links_check(const struct keeper_links *links, uid_t uid);

#endif

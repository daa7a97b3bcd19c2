/* The links to keepers: either one for all jobs, to a keeper that voltd starts; or one
 * for each user, to the socket <dir>/<uid>, behind which somebody else starts a keeper
 * that runs as that user. Such a link is made when it is first asked for, and rests
 * when it has had nothing to do for ten minutes (keeper_link.h). */
#ifndef DAEMON_LINK_KEEPER_LINKS_H
#define DAEMON_LINK_KEEPER_LINKS_H

#include <sys/types.h>
#include "daemon/link/keeper_link.h"

struct keeper_links;

#define KEEPER_OF_NOBODY ((uid_t)-1) /* of a job whose owner is not known */

/* dir: absolute; NULL: one link for all, which is opened (keeper_link_open). opt is
 * borrowed; with dir only its record_fd counts. 0 and *ret (free with
 * keeper_links_free); -errno with a text in *err. */
int keeper_links_open(const char *dir, const struct keeper_link_options *opt,
                      struct volt_error *err, struct keeper_links **ret);
/* From now on links have their tasks, and tell of their users, if there are several; told
 * is copied. 0; -ENOMEM; -ESHUTDOWN. */
int keeper_links_start(struct keeper_links *links, struct volt_runtime *rt,
                       const struct keeper_told *told);
/* As keeper_link_free(). NULL is allowed. */
void keeper_links_free(struct keeper_links *links, bool settled);

bool keeper_links_are_many(const struct keeper_links *links);
/* The link to the keeper that runs jobs of uid, which stays until keeper_links_free().
 * NULL: no memory for it, or there are several and the owner is not known. After
 * keeper_links_start(). Any thread. */
struct keeper_link *keeper_links_of(struct keeper_links *links, uid_t uid);
/* As keeper_link_away_usec(); 0 also where the link has not been asked for. Any
 * thread. */
uint64_t keeper_links_away_usec(struct keeper_links *links, uid_t uid);
/* Whether the keeper of that user can be asked for: 0; -ENOENT: it has no socket; -EPERM:
 * it is root, who has no keeper; -errno. One link for all: 0. Any thread. */
int keeper_links_check(const struct keeper_links *links, uid_t uid);

#endif

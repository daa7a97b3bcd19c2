/* What a user may do: what allows or refuses something by the uid of a peer asks here.
 * The uid is that of SO_PEERCRED, taken once at accept. Pure but for the account that
 * voltd runs as.
 *
 *   root                          everything
 *   an admin                      root; where voltd is a user's own, that user: unlimited
 *                                 by the limits of users
 *   the account of voltd          stops it and reloads its configuration, like root
 *   any user                      sees and steers its own jobs, and its events */
#ifndef VOLTD_AUTH_AUTH_H
#define VOLTD_AUTH_AUTH_H

#include <stdbool.h>
#include <sys/types.h>

/* What an admin holds it releases. */
bool auth_is_root(uid_t uid);
/* The jobs, events and orphans of this owner, and so it may steer them. */
bool auth_sees(uid_t uid, uid_t owner);
bool auth_is_admin(uid_t uid, bool user_mode);
/* It may stop voltd, and reload its configuration. */
bool auth_runs_voltd(uid_t uid);
/* root_only: voltd is root, and would run the jobs of others as root. */
bool auth_is_served(uid_t uid, bool root_only);

#endif

/* Directories of one user's voltd, and how programs outside the login session find it.
 *
 * The sockets are in the runtime directory of the login session (address_user_dir()). A
 * job of cron, `su -c` or `sudo -u` has another runtime directory, or none. The state
 * directory depends on HOME and is the same for all of them. So voltd keeps a symbolic
 * link to its runtime directory there while it listens:
 *
 *   <state dir>/runtime -> /run/user/1000/voltd
 *
 * A link is trusted if it belongs to this user and leads to a directory that does too,
 * and is closed to others. */
#ifndef VOLT_WIRE_USER_DIRS_H
#define VOLT_WIRE_USER_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/error.h>

/* Returns whether this process is root and the directory another user's. sudo and su may
 * keep HOME; files that root leaves there would shut its user out. */
bool user_is_anothers(const char *dir);

/* Returns HOME, or the home of root if HOME is another user's. NULL: not an absolute
 * path. */
const char *user_home(void);

/* Writes the state directory of a user's voltd, which need not exist. home: the user's;
 * NULL: not known. Returns 0; -ENOENT: neither the home nor XDG_STATE_HOME is known;
 * -ENAMETOOLONG. */
int user_state_dir(const char *home, char *buf, size_t size, struct volt_error *err);

/* Puts the link into state_dir, atomically in place of an older one. For the voltd that
 * has the lock of state_dir. Returns 0 or -errno. */
int user_link_put(const char *state_dir, const char *runtime_dir);

/* Removes the link, if there is one. */
void user_link_remove(const char *state_dir);

/* Reads where the link leads in the state directory of this user, by $HOME. Returns 0;
 * -ENOENT: no link, or not a trusted one; -ENAMETOOLONG. */
int user_link_read(char *buf, size_t size);
/* The same for the given state directory. */
int user_link_read_in(const char *state_dir, char *buf, size_t size);

#endif

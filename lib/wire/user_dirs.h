/* Directories of the voltd of one user, and how programs outside of its session find it.
 *
 * The sockets are in the runtime directory (address_user_dir()), which is that of a login
 * session. A job of cron, `su -c` or `sudo -u` has another one, or none. The state
 * directory is the same for all of them, as it hangs on HOME. So voltd keeps in it, while
 * it listens, a symbolic link to its runtime directory:
 *
 *   <state dir>/runtime -> /run/user/1000/voltd
 *
 * A link is trusted when it belongs to this user and leads to a directory that does, and
 * that is closed to others. */
#ifndef VOLT_WIRE_USER_DIRS_H
#define VOLT_WIRE_USER_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <volt/error.h>

/* Whether this process is root and the directory another user's: sudo and su keep HOME
 * and the like, and what root left there would shut its user out. */
bool user_is_anothers(const char *dir);

/* HOME, but where it is another user's the home of root. NULL: it is no absolute path. */
const char *user_home(void);

/* Writes the state directory of the voltd of a user with this home (NULL: none is known),
 * without looking whether it exists. 0; -ENOENT: neither the home nor XDG_STATE_HOME;
 * -ENAMETOOLONG. */
int user_state_dir(const char *home, char *buf, size_t size, struct volt_error *err);

/* Puts the link into state_dir, in place of an older one: at any time there is one of
 * both. Only the voltd that has the lock of state_dir calls it. 0; -errno. */
int user_link_put(const char *state_dir, const char *runtime_dir);

/* Removes it. What is missing is no error. */
void user_link_remove(const char *state_dir);

/* Where the link in the state directory of this user, by $HOME, leads. 0; -ENOENT: there
 * is none, or it is not to be trusted; -ENAMETOOLONG. */
int user_link_read(char *buf, size_t size);
/* The same of a state directory. */
int user_link_read_in(const char *state_dir, char *buf, size_t size);

#endif

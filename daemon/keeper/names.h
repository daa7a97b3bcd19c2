/* Reads the names in a directory without allocation. */
#ifndef DAEMON_KEEPER_NAMES_H
#define DAEMON_KEEPER_NAMES_H

/* Calls fn for each name in the directory at path below dir_fd, in no order, until fn
 * returns non-zero. Returns that value; 0: there was none; -errno. */
int each_name(int dir_fd, const char *path, int (*fn)(const char *name, void *arg),
              void *arg);

#endif

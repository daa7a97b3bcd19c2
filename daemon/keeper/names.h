/* The names in a folder, read without allocation. */
#ifndef DAEMON_KEEPER_NAMES_H
#define DAEMON_KEEPER_NAMES_H

/* Calls fn for each name in the folder at path below dir_fd, in no particular order,
 * until it returns non-zero, which is returned. 0 or -errno. */
int each_name(int dir_fd, const char *path, int (*fn)(const char *name, void *arg),
              void *arg);

#endif

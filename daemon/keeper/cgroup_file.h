/* Reads and writes the files of a cgroup, which are small texts. */
#ifndef DAEMON_KEEPER_CGROUP_FILE_H
#define DAEMON_KEEPER_CGROUP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_TEXT_MAX  8192
#define CGROUP_BELOW_MAX 16 /* levels of cgroups that are looked into */

/* The text of a file, as much as fits. */
struct cgroup_text {
    char s[CGROUP_TEXT_MAX];
};

/* Read the text from its beginning. Return whether it could be read; if not, *ret is
 * empty. */
bool cgroup_read_fd(int fd, struct cgroup_text *ret);
bool cgroup_read(int dir_fd, const char *file, struct cgroup_text *ret);
/* Writes the text. Returns 0 or -errno. */
int cgroup_write(int dir_fd, const char *file, const char *text);
/* Returns the number after a word, in lines "word number"; 0: the word is missing. */
uint64_t cgroup_number(const struct cgroup_text *text, const char *word);

#endif

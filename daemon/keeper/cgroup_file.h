/* The files of a cgroup: small texts. */
#ifndef DAEMON_KEEPER_CGROUP_FILE_H
#define DAEMON_KEEPER_CGROUP_FILE_H

#include <stdbool.h>
#include <stdint.h>

#define CGROUP_TEXT_MAX  8192
#define CGROUP_BELOW_MAX 16 /* cgroups in cgroups that are looked into */

/* A file's text, as far as it fits. */
struct cgroup_text {
    char s[CGROUP_TEXT_MAX];
};

/* Reads from the beginning. Whether it could be read; otherwise *ret is empty. */
bool cgroup_read_fd(int fd, struct cgroup_text *ret);
bool cgroup_read(int dir_fd, const char *file, struct cgroup_text *ret);
/* 0 or -errno. */
int cgroup_write(int dir_fd, const char *file, const char *text);
/* The number after a word, in lines "word number"; 0: the word is not there. */
uint64_t cgroup_number(const struct cgroup_text *text, const char *word);

#endif

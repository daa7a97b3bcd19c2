/* See cgroup_file.h. */
#include "daemon/keeper/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cgroup_read_fd(int fd, struct cgroup_text *ret)
{
    ssize_t n = pread(fd, ret->s, sizeof(ret->s) - 1, 0);
    ret->s[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

bool cgroup_read(int dir_fd, const char *file, struct cgroup_text *ret)
{
    ret->s[0] = '\0';
    int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = cgroup_read_fd(fd, ret);
    (void)close(fd);
    return good;
}

int cgroup_write(int dir_fd, const char *file, const char *text)
{
    int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

uint64_t cgroup_number(const struct cgroup_text *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *line = text->s; line != NULL && *line != '\0';) {
        if (strncmp(line, word, n) == 0 && line[n] == ' ')
            return strtoull(line + n, NULL, 10);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return 0;
}

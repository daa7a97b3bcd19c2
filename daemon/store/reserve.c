/* See reserve.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/store/reserve.h"

static int open_file(const char *dir, int flags)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/reserve", dir) >= PATH_MAX)
        return -ENAMETOOLONG;
    return file_open_regular(AT_FDCWD, path, O_RDWR | O_NOFOLLOW | flags, 0600, NULL);
}

/* Returns whether the file is complete: posix_fallocate() would look at each of its
 * pages. */
static bool has_room(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size == RESERVE_BYTES &&
           (uint64_t)st.st_blocks * 512 >= RESERVE_BYTES;
}

int reserve_take(const char *dir)
{
    int fd = open_file(dir, O_CREAT);
    int r = 0;

    if (fd < 0)
        return fd;
    if (!has_room(fd)) {
        do
            r = -posix_fallocate(fd, 0, RESERVE_BYTES);
        while (r == -EINTR);
    }
    if (r < 0)
        (void)ftruncate(fd, 0); /* others need what it got more */
    close(fd);
    return r;
}

void reserve_release(const char *dir)
{
    int fd = open_file(dir, 0);

    if (fd < 0)
        return;
    (void)ftruncate(fd, 0);
    close(fd);
}

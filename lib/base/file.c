/* See file.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"

static bool is_null_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int prove_regular(const struct stat *st, int flags)
{
    if (S_ISREG(st->st_mode))
        return 0;
    if (S_ISDIR(st->st_mode))
        return -EISDIR;
    return (flags & O_ACCMODE) == O_RDONLY && is_null_device(st) ? 0 : -FILE_NOT_REGULAR;
}

int file_open_regular(int dir_fd, const char *path, int flags, mode_t mode,
                      struct stat *ret_stat)
{
    struct stat st;
    int fd = openat(dir_fd, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);

    if (fd < 0) /* ENXIO: a socket, or a FIFO without a reader */
        return errno == ENXIO ? -FILE_NOT_REGULAR : -errno;
    int r = fstat(fd, &st) < 0 ? -errno : prove_regular(&st, flags);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    if (ret_stat)
        *ret_stat = st;
    return fd;
}

const char *file_text(int r)
{
    return r == -FILE_NOT_REGULAR ? "it is not a regular file" : strerror(-r);
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);

        if (done < 0 && errno != EINTR)
            return -errno;
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
    return 0;
}

static int new_name(const char *name, char made[64])
{
    return (size_t)snprintf(made, 64, "%s.new", name) >= 64 ? -ENAMETOOLONG : 0;
}

int file_prepare(int dir_fd, const char *name, const void *bytes, size_t n)
{
    char made[64];
    int r = new_name(name, made);

    if (r < 0)
        return r;
    /* What a crash has left there, or somebody has put there. */
    if (unlinkat(dir_fd, made, 0) < 0 && errno != ENOENT)
        return -errno;
    int fd =
        openat(dir_fd, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    r = write_all(fd, bytes, n);
    while (r == 0 && fsync(fd) < 0)
        if (errno != EINTR)
            r = -errno;
    (void)close(fd);
    if (r < 0)
        (void)unlinkat(dir_fd, made, 0);
    return r;
}

int file_publish(int dir_fd, const char *name)
{
    char made[64];
    int r = new_name(name, made);

    if (r == 0 && renameat(dir_fd, made, dir_fd, name) < 0) {
        r = -errno;
        (void)unlinkat(dir_fd, made, 0);
    }
    return r;
}

int file_replace(int dir_fd, const char *name, const void *bytes, size_t n)
{
    int r = file_prepare(dir_fd, name, bytes, n);

    return r < 0 ? r : file_publish(dir_fd, name);
}

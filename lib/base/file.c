/* See file.h. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
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

/* Takes what open() returned. */
static int keep_regular(int fd, int flags, struct stat *ret_stat)
{
    struct stat st;

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

int file_open_regular(int dir_fd, const char *path, int flags, mode_t mode,
                      struct stat *ret_stat)
{
    int fd = TEMP_FAILURE_RETRY(
        openat(dir_fd, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode));

    return keep_regular(fd, flags, ret_stat);
}

int file_open_cached(int dir_fd, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
        .resolve = RESOLVE_CACHED,
    };
    int fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

    /* EINVAL: Linux before 5.12; ENOSYS, EPERM: before 5.6, or a filter of calls. */
    if (fd < 0 && (errno == EINVAL || errno == ENOSYS || errno == EPERM))
        errno = EAGAIN;
    return keep_regular(fd, flags, NULL);
}

/* Files in memory are tmpfs and memfds; only these have seals. */
static bool is_in_memory(int fd)
{
    return fcntl(fd, F_GET_SEALS) >= 0;
}

ssize_t file_read_cached(int fd, void *buf, size_t n, off_t at)
{
    const struct iovec whole = {buf, n};
    ssize_t got = TEMP_FAILURE_RETRY(preadv2(fd, &whole, 1, at, RWF_NOWAIT));

    if (got < 0 && errno == EOPNOTSUPP)
        got = is_in_memory(fd) ? TEMP_FAILURE_RETRY(pread(fd, buf, n, at))
                               : (errno = EAGAIN, -1);
    return got < 0 ? -errno : got;
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

/* The file of that name, new; what a crash has left there, or somebody has put there,
 * goes. */
static int write_new(int dir_fd, const char *made, const void *bytes, size_t n)
{
    if (unlinkat(dir_fd, made, 0) < 0 && errno != ENOENT)
        return -errno;
    int fd =
        openat(dir_fd, made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    int r = write_all(fd, bytes, n);
    while (r == 0 && fsync(fd) < 0)
        if (errno != EINTR)
            r = -errno;
    (void)close(fd);
    if (r < 0)
        (void)unlinkat(dir_fd, made, 0);
    return r;
}

int file_prepare(int dir_fd, const char *name, const void *bytes, size_t n,
                 struct volt_error *err)
{
    char made[64];
    int r = new_name(name, made);

    if (r == 0)
        r = write_new(dir_fd, made, bytes, n);
    return r < 0 ? error_set(err, r, "%s.new: %s", name, file_text(r)) : 0;
}

int file_publish(int dir_fd, const char *name, struct volt_error *err)
{
    char made[64];
    int r = new_name(name, made);

    if (r == 0 && renameat(dir_fd, made, dir_fd, name) < 0) {
        r = -errno;
        (void)unlinkat(dir_fd, made, 0);
    }
    return r < 0 ? error_set(err, r, "%s: %s", name, file_text(r)) : 0;
}

int file_replace(int dir_fd, const char *name, const void *bytes, size_t n,
                 struct volt_error *err)
{
    int r = file_prepare(dir_fd, name, bytes, n, err);

    return r < 0 ? r : file_publish(dir_fd, name, err);
}

/* See sqlite_wal.h. The format is that of SQLite's documentation, "WAL-mode file format":
 * a header of 32 bytes, then frames of 24 bytes and a page. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/store/sqlite_wal.h"

#define HEADER 32
#define FRAME  24
#define PAGE   4096

static int open_journal(const char *path, int flags)
{
    char name[PATH_MAX];

    if (snprintf(name, sizeof(name), "%s-wal", path) >= PATH_MAX)
        return -ENAMETOOLONG;
    return file_open_regular(AT_FDCWD, name, flags | O_NOFOLLOW, 0, NULL);
}

/* Writes zeros and syncs them. Allocation is not enough: the first write to an allocated
 * block costs as much as a new block. */
static int write_zeros(int fd, off_t at, off_t end)
{
    static const uint8_t zeros[1 << 16];

    while (at < end) {
        size_t n = end - at < (off_t)sizeof(zeros) ? (size_t)(end - at) : sizeof(zeros);
        ssize_t done = pwrite(fd, zeros, n, at);

        if (done < 0 && errno != EINTR)
            return -errno;
        at += done < 0 ? 0 : done;
    }
    return fdatasync(fd) < 0 ? -errno : 0;
}

/* Closing this descriptor drops no lock of SQLite, which has no lock on the journal
 * itself. */
int wal_extend(const char *path, uint64_t bytes)
{
    int fd = open_journal(path, O_WRONLY), r;
    struct stat st;

    if (fd < 0)
        return fd;
    r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && st.st_size > HEADER && (uint64_t)st.st_size < bytes) {
        r = write_zeros(fd, st.st_size, (off_t)bytes);
        if (r < 0)
            (void)ftruncate(fd, st.st_size); /* no room: others need it more */
    }
    close(fd);
    return r;
}

int wal_sync(const char *path)
{
    int fd = open_journal(path, O_RDWR), r;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    r = fdatasync(fd) < 0 ? -errno : 0;
    close(fd);
    return r;
}

uint64_t wal_bytes(uint64_t frames)
{
    return HEADER + frames * (FRAME + PAGE);
}

/* See sealed_file.h. */
#include "daemon/run/sealed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int put(int fd, const void *bytes, size_t n, size_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t wrote =
            pwrite(fd, (const char *)bytes + done, n - done, (off_t)(at + done));

        if (wrote < 0)
            return -errno;
        done += (size_t)wrote;
    }
    return 0;
}

int sealed_file(const char *title, const char *before, const struct job_bytes *bytes)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    const size_t first = before ? strlen(before) + 1 : 0;
    int fd = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    int r = put(fd, before, first, 0);
    if (r == 0)
        r = put(fd, bytes->bytes, bytes->n, first);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    (void)fcntl(fd, F_ADD_SEALS, seals);
    return fd;
}

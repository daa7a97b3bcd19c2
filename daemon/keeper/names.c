/* Reads directories, of /proc and of records. opendir() would allocate. */
#include "daemon/keeper/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int each_name(int dir_fd, const char *path, int (*fn)(const char *name, void *arg),
              void *arg)
{
    _Alignas(struct dirent64) char buf[4096];
    long len = 0;
    int r = 0;
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    while (r == 0 && (len = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
        for (long at = 0; r == 0 && at < len;) {
            struct dirent64 *e = (struct dirent64 *)(void *)(buf + at);
            r = fn(e->d_name, arg);
            at += e->d_reclen;
        }
    if (len < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

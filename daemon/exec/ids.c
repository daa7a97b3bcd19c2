/* The high-water mark of job ids and its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/exec/ids.h"

/* 0 and the mark; 1 when there is no file; -errno. */
static int read_mark(int dir_fd, uint64_t *ret)
{
    char buf[32], *end;
    int fd = openat(dir_fd, "ids", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n;

    if (fd < 0)
        return errno == ENOENT ? 1 : -errno;
    n = read(fd, buf, sizeof(buf) - 1);
    int r = n < 0 ? -errno : 0;
    close(fd);
    if (r < 0)
        return r;
    buf[n] = '\0';
    if (buf[0] < '0' || buf[0] > '9')
        return -EBADMSG;
    errno = 0;
    *ret = strtoull(buf, &end, 10);
    return errno || strcmp(end, "\n") != 0 ? -EBADMSG : 0;
}

static int write_mark(int dir_fd, uint64_t mark)
{
    char buf[32];
    int len = snprintf(buf, sizeof(buf), "%llu\n", (unsigned long long)mark);
    int fd = openat(dir_fd, "ids.new",
                    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = 0;

    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, buf, (size_t)len);
    if (n != len)
        r = n < 0 ? -errno : -ENOSPC;
    else if (fsync(fd) < 0)
        r = -errno;
    close(fd);
    if (r == 0 && renameat(dir_fd, "ids.new", dir_fd, "ids") < 0)
        r = -errno;
    if (r == 0 && fsync(dir_fd) < 0)
        r = -errno;
    return r;
}

int ids_open(struct ids *ids, int dir_fd, uint64_t floor, struct volt_error *err)
{
    uint64_t mark = 1;
    int r;

    do
        r = read_mark(dir_fd, &mark);
    while (r == -EINTR);

    if (r < 0) {
        if (err)
            (void)snprintf(err->text, sizeof(err->text),
                           "the file \"ids\" in the state directory: %s",
                           r == -EBADMSG ? "not a number" : strerror(-r));
        return r;
    }
    *ids = (struct ids){.dir_fd = dir_fd};
    ids->next = ids->reserved = mark > floor ? mark : floor;
    pthread_mutex_init(&ids->lock, NULL);
    pthread_mutex_init(&ids->file_lock, NULL);
    return 0;
}

void ids_close(struct ids *ids)
{
    pthread_mutex_destroy(&ids->lock);
    pthread_mutex_destroy(&ids->file_lock);
}

bool ids_take(struct ids *ids, uint64_t count, uint64_t *ret_first)
{
    pthread_mutex_lock(&ids->lock);
    bool enough = ids->reserved - ids->next >= count;
    if (enough) {
        *ret_first = ids->next;
        ids->next += count;
    }
    pthread_mutex_unlock(&ids->lock);
    return enough;
}

int ids_reserve(struct ids *ids, uint64_t count)
{
    int r = 0;

    pthread_mutex_lock(&ids->file_lock);
    pthread_mutex_lock(&ids->lock);
    uint64_t next = ids->next, reserved = ids->reserved, wanted = next + count;
    pthread_mutex_unlock(&ids->lock);

    if (reserved < wanted) {
        wanted = next + IDS_AHEAD * count;
        wanted = (wanted + IDS_BLOCK - 1) / IDS_BLOCK * IDS_BLOCK;
        do /* all of it is done anew */
            r = write_mark(ids->dir_fd, wanted);
        while (r == -EINTR);
    }
    if (r == 0 && reserved < wanted) {
        pthread_mutex_lock(&ids->lock);
        ids->reserved = wanted;
        pthread_mutex_unlock(&ids->lock);
    }
    pthread_mutex_unlock(&ids->file_lock);
    return r;
}

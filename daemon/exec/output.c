/* Where the output of jobs is kept.
 *
 *   <output dir>/<id / 1024>/<id>.out, .err            a job
 *   <output dir>/<id / 1024>/<id>/<index>.out, .err    an element of an array
 *
 * Ids are never reused, so a file that is there already is an error, unless it is empty:
 * a daemon that made it died before it could say that it starts the job. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/exec/jobs.h"

struct output_path {
    char group[24], folder[48], file[80]; /* folder is empty where there is none */
};

static void path_of(const struct job_key *key, enum manager_stream stream,
                    struct output_path *ret)
{
    unsigned long long id = key->id, group = id / 1024;
    const char *suffix = stream == MANAGER_STDERR ? "err" : "out";

    (void)snprintf(ret->group, sizeof(ret->group), "%llu", group);
    ret->folder[0] = '\0';
    if (key->index >= 0) {
        (void)snprintf(ret->folder, sizeof(ret->folder), "%llu/%llu", group, id);
        (void)snprintf(ret->file, sizeof(ret->file), "%llu/%llu/%lld.%s", group, id,
                       (long long)key->index, suffix);
    } else {
        (void)snprintf(ret->file, sizeof(ret->file), "%llu/%llu.%s", group, id, suffix);
    }
}

static int open_leftover(struct manager *m, const char *file)
{
    struct stat st;
    int fd = openat(m->output_fd, file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_size != 0))
        r = -EEXIST;
    if (r == 0)
        return fd;
    (void)close(fd);
    return r;
}

int output_create(struct manager *m, const struct job_key *key,
                  enum manager_stream stream)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
    struct output_path p;
    int fd;

    path_of(key, stream, &p);
    fd = openat(m->output_fd, p.file, flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        if (mkdirat(m->output_fd, p.group, 0700) < 0 && errno != EEXIST)
            return -errno;
        if (p.folder[0] && mkdirat(m->output_fd, p.folder, 0700) < 0 && errno != EEXIST)
            return -errno;
        fd = openat(m->output_fd, p.file, flags, 0600);
    }
    if (fd < 0 && errno == EEXIST)
        return open_leftover(m, p.file);
    return fd < 0 ? -errno : fd;
}

int output_append(struct manager *m, const struct job_key *key,
                  enum manager_stream stream)
{
    struct output_path p;

    path_of(key, stream, &p);
    int fd = openat(m->output_fd, p.file, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

uint64_t output_size(struct manager *m, const struct job_key *key)
{
    static const enum manager_stream streams[] = {MANAGER_STDOUT, MANAGER_STDERR};
    uint64_t bytes = 0;

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        struct output_path p;
        struct stat st;

        path_of(key, streams[i], &p);
        if (fstatat(m->output_fd, p.file, &st, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

int output_open(struct manager *m, const struct job_key *key, enum manager_stream stream)
{
    struct output_path p;

    path_of(key, stream, &p);
    int fd = openat(m->output_fd, p.file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    return errno == ENOENT ? -ENODATA : -errno;
}

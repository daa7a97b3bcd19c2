/* See lease_file.h. */
#include "daemon/lease/lease_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "base/file.h"

/* Layout of a file. */
struct image {
    uint32_t crc; /* of the bytes from id on */
    uint32_t version;
    uint64_t id, permits, capacity, since_usec, in_job, in_lease;
    int64_t pid, in_index;
    uint32_t uid, mode;
    char name[JOB_CLAIM_BYTES + 1], command[LEASE_COMMAND + 1];
    uint64_t waits; /* 1: the lease waits; 0: it is held */
};

#define HEAD offsetof(struct image, id)

/* Size of the file in each version. A new version appends members; in an older file they
 * read as zeroes. */
static const size_t sizes[] = {offsetof(struct image, waits), sizeof(struct image)};
enum { VERSIONS = sizeof(sizes) / sizeof(sizes[0]) };

static uint32_t crc_of(const struct image *m, size_t n)
{
    return crc32c(0, (const char *)m + HEAD, n - HEAD);
}

static void name_of(uint64_t id, char ret[24])
{
    (void)snprintf(ret, 24, "%" PRIu64, id);
}

uint64_t lease_file_id(const char *name)
{
    struct job_key key;

    return job_key_parse(name, &key) == 0 && key.index == JOB_NO_INDEX && !key.attempt
               ? key.id
               : 0;
}

int lease_dir_open(int state_fd)
{
    if (mkdirat(state_fd, "leases", 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(state_fd, "leases", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Opens a second descriptor for the scan: a scan of dir_fd itself would leave it at its
 * end. */
static int open_to_read(int dir_fd, DIR **ret)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    *ret = fdopendir(fd);
    if (*ret)
        return 0;
    const int r = -errno;
    (void)close(fd);
    return r;
}

/* Returns the id of the next file; 0 at the end, with 0 or -errno in *ret_err. */
static uint64_t next_id(DIR *dir, int *ret_err)
{
    const struct dirent *e;

    while (errno = 0, (e = readdir(dir)))
        if (lease_file_id(e->d_name))
            return lease_file_id(e->d_name);
    *ret_err = -errno;
    return 0;
}

int lease_dir_scan(int dir_fd, int (*fn)(uint64_t id, void *arg), void *arg)
{
    DIR *dir;
    uint64_t id;
    int r = open_to_read(dir_fd, &dir);

    if (r < 0)
        return r;
    while (r >= 0 && (id = next_id(dir, &r)))
        r = fn(id, arg);
    (void)closedir(dir);
    return r < 0 ? r : 0;
}

static void draw(const struct lease_ask *ask, bool waits, struct image *ret)
{
    const struct job_claim *c = &ask->claim;

    memset(ret, 0, sizeof(*ret));
    ret->version = VERSIONS - 1;
    ret->id = ask->id;
    ret->permits = c->permits;
    ret->capacity = c->had;
    ret->since_usec = ask->since_usec;
    ret->pid = ask->pid;
    ret->in_job = ask->in_job.id;
    ret->in_index = ask->in_job.index;
    ret->in_lease = ask->in_lease;
    ret->uid = ask->uid;
    ret->mode = c->mode;
    (void)snprintf(ret->name, sizeof(ret->name), "%s", c->name);
    (void)snprintf(ret->command, sizeof(ret->command), "%s", ask->command);
    ret->waits = waits;
    ret->crc = crc_of(ret, sizeof(*ret));
}

static int write_image(int fd, const struct lease_ask *ask, bool waits)
{
    struct image m;

    draw(ask, waits, &m);
    const ssize_t n = pwrite(fd, &m, sizeof(m), 0);
    return n == (ssize_t)sizeof(m) ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int make(int dir_fd, const char *name, const struct lease_ask *ask, bool waits)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    const int r = write_image(fd, ask, waits);
    (void)close(fd);
    return r;
}

static int lock(int dir_fd, const char *name, int *ret_fd)
{
    int fd = file_open_regular(dir_fd, name, O_RDONLY, 0, NULL);

    if (fd < 0)
        return fd;
    if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
        const int r = -errno;
        (void)close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int lease_file_make(int dir_fd, const struct lease_ask *ask, bool waits, int *ret_fd)
{
    char name[24];

    name_of(ask->id, name);
    int r = make(dir_fd, name, ask, waits);
    if (r == 0)
        r = lock(dir_fd, name, ret_fd);
    if (r < 0 && r != -EEXIST)
        (void)unlinkat(dir_fd, name, 0);
    return r;
}

/* Opens the file for writing, as lease_file_give() does: inotify then reports another
 * event at the close than for a holder. */
int lease_file_is_held(int dir_fd, uint64_t id)
{
    char name[24];

    name_of(id, name);
    int fd = file_open_regular(dir_fd, name, O_WRONLY, 0, NULL);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    int r = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? 1 : -errno;
    (void)close(fd);
    return r;
}

static int understand(const struct image *m, size_t n, uint64_t id,
                      struct lease_file_contents *ret)
{
    if (n >= HEAD && m->version >= VERSIONS)
        return -EPROTONOSUPPORT;
    if (n < HEAD || n != sizes[m->version] || m->crc != crc_of(m, n) || m->id != id ||
        m->mode >= JOB_CLAIM_MODES || !job_claim_is_held((enum job_claim_mode)m->mode) ||
        m->name[sizeof(m->name) - 1] || m->command[sizeof(m->command) - 1] ||
        !m->name[0] || m->waits > 1)
        return -EBADMSG;
    memcpy(ret->name, m->name, sizeof(ret->name));
    memcpy(ret->command, m->command, sizeof(ret->command));
    ret->ask = (struct lease_ask){.id = id,
                                  .uid = m->uid,
                                  .claim = {.name = ret->name,
                                            .mode = (enum job_claim_mode)m->mode,
                                            .permits = m->permits,
                                            .had = m->capacity},
                                  .pid = (pid_t)m->pid,
                                  .in_job = {.id = m->in_job, .index = m->in_index},
                                  .in_lease = m->in_lease,
                                  .command = ret->command,
                                  .since_usec = m->since_usec};
    ret->waits = m->waits;
    return 0;
}

static int read_image(int fd, uint64_t id, struct lease_file_contents *ret)
{
    struct image m = {0};
    const ssize_t n = read(fd, &m, sizeof(m));

    return n < 0 ? -errno : understand(&m, (size_t)n, id, ret);
}

int lease_file_read(int dir_fd, uint64_t id, struct lease_file_contents *ret)
{
    char name[24];

    name_of(id, name);
    int fd = file_open_regular(dir_fd, name, O_RDONLY, 0, NULL);
    if (fd < 0)
        return fd;
    const int r = read_image(fd, id, ret);
    (void)close(fd);
    return r;
}

/* Writes a few hundred bytes at once: a voltd that is killed has written all or none. */
int lease_file_give(int dir_fd, uint64_t id, uint64_t since_usec, uint64_t had)
{
    struct lease_file_contents contents;
    char name[24];

    name_of(id, name);
    int fd = file_open_regular(dir_fd, name, O_RDWR, 0, NULL);
    if (fd < 0)
        return fd;
    int r = read_image(fd, id, &contents);
    contents.ask.since_usec = since_usec;
    contents.ask.claim.had = had;
    if (r == 0)
        r = write_image(fd, &contents.ask, false);
    (void)close(fd);
    return r;
}

int lease_file_remove(int dir_fd, uint64_t id)
{
    char name[24];

    name_of(id, name);
    return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
}

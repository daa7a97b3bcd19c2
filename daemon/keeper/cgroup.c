/* See cgroup.h. */
#include "daemon/keeper/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/keeper/cgroup_file.h"
#include "daemon/keeper/names.h"

#define KEEPER "/keeper"
#define JOBS   "/jobs/"

/* "<mount><unit>/jobs/"; "": no place for cgroups. */
static char jobs[2 * CGROUP_PATH_MAX];

/* --- the place ---------------------------------------------------------------------- */

int cgroup_own(char ret[static CGROUP_PATH_MAX])
{
    struct cgroup_text text;
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = cgroup_read_fd(fd, &text) ? 0 : -errno;
    (void)close(fd);
    if (r < 0)
        return r;
    const char *line = text.s;
    while (line != NULL && strncmp(line, "0::/", strlen("0::/")) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    const char *end = line != NULL ? strchr(line, '\n') : NULL;
    if (end == NULL)
        return -ENODATA;
    line += strlen("0::");
    if (end - line >= CGROUP_PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(ret, line, (size_t)(end - line));
    ret[end - line] = '\0';
    return 0;
}

void cgroup_init(const char *mount)
{
    char own[CGROUP_PATH_MAX];
    jobs[0] = '\0';
    if (cgroup_own(own) < 0)
        return;
    const size_t n = strlen(own), end = strlen(KEEPER);
    if (n < end || strcmp(own + n - end, KEEPER) != 0)
        return;
    (void)snprintf(jobs, sizeof(jobs), "%s%.*s" JOBS, mount, (int)(n - end), own);
    if (access(jobs, W_OK) < 0)
        jobs[0] = '\0';
}

static bool has_place(void)
{
    return jobs[0] != '\0';
}

/* --- the cgroup of an attempt ------------------------------------------------------- */

struct path {
    char s[sizeof(jobs) + JOB_KEY_TEXT_MAX];
};

static struct path path_of(const struct job_key *key)
{
    struct path path;
    char name[JOB_KEY_TEXT_MAX];
    (void)job_key_format(key, name);
    (void)snprintf(path.s, sizeof(path.s), "%s%s", jobs, name);
    return path;
}

static int open_dir(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int cgroup_open(const struct job_key *key)
{
    if (!has_place())
        return -1;
    const struct path path = path_of(key);
    return open_dir(path.s);
}

static const struct {
    const char *file;
    size_t at; /* offset in struct keeper_limits */
} limit_files[] = {
    {"memory.max", offsetof(struct keeper_limits, memory_max)},
    {"memory.high", offsetof(struct keeper_limits, memory_high)},
    {"memory.swap.max", offsetof(struct keeper_limits, swap_max)},
    {"pids.max", offsetof(struct keeper_limits, pids_max)},
    {"cpu.weight", offsetof(struct keeper_limits, cpu_weight)},
    {"io.weight", offsetof(struct keeper_limits, io_weight)},
};

static int set_one(int fd, const char *file, const char *text)
{
    int r = cgroup_write(fd, file, text);
    return r == -ENOENT || r == -EACCES ? -EOPNOTSUPP : r; /* no such controller */
}

static int set_limits(int fd, const struct keeper_limits *limits)
{
    char text[64];
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(limit_files) / sizeof(*limit_files); i++) {
        uint64_t value;
        memcpy(&value, (const char *)limits + limit_files[i].at, sizeof(value));
        if (value == KEEPER_NO_LIMIT)
            continue;
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        r = set_one(fd, limit_files[i].file, text);
    }
    if (r == 0 && limits->cpu_max != KEEPER_NO_LIMIT) {
        (void)snprintf(text, sizeof(text), "%llu 100000",
                       (unsigned long long)limits->cpu_max * 1000);
        r = set_one(fd, "cpu.max", text);
    }
    /* The kernel kills the whole job, instead of one process for which the others
     * wait. */
    if (r == 0 && limits->memory_max != KEEPER_NO_LIMIT)
        r = set_one(fd, "memory.oom.group", "1");
    return r;
}

static bool is_limited(const struct keeper_limits *limits)
{
    static const struct keeper_limits none = KEEPER_NO_LIMITS;

    return memcmp(limits, &none, sizeof(none)) != 0;
}

/* Returns whether mkdir failed as the user, or the machine, has its most cgroups. */
static bool lacks_room(int error)
{
    return error == EAGAIN || error == ENOSPC;
}

int cgroup_make(const struct job_key *key, const struct keeper_limits *limits,
                int *ret_fd)
{
    *ret_fd = -1;
    if (!has_place())
        return is_limited(limits) ? -EOPNOTSUPP : 0;
    const struct path path = path_of(key);
    if (mkdir(path.s, 0755) < 0 && errno != EEXIST)
        return lacks_room(errno) && !is_limited(limits) ? 0 : -errno;
    int fd = open_dir(path.s);
    if (fd < 0)
        return -errno;
    int r = set_limits(fd, limits);
    if (r < 0) {
        (void)close(fd);
        (void)rmdir(path.s);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

struct below {
    int fd;
    unsigned depth;
};

/* Removes a cgroup and those below it. Skips files, which are no directories. */
static int remove_below(const char *name, void *arg)
{
    const struct below *above = arg;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        above->depth == CGROUP_BELOW_MAX)
        return 0;
    struct below self = {openat(above->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                         above->depth + 1};
    if (self.fd < 0)
        return 0;
    (void)each_name(self.fd, ".", remove_below, &self);
    (void)close(self.fd);
    (void)unlinkat(above->fd, name, AT_REMOVEDIR);
    return 0;
}

bool cgroup_remove(const struct job_key *key)
{
    if (!has_place())
        return true;
    const struct path path = path_of(key);
    if (rmdir(path.s) == 0 || errno == ENOENT)
        return true;
    struct below self = {open_dir(path.s), 0};
    if (self.fd < 0)
        return errno == ENOENT;
    if (cgroup_await_empty(self.fd, 0))
        (void)each_name(self.fd, ".", remove_below, &self);
    (void)close(self.fd);
    return rmdir(path.s) == 0 || errno == ENOENT;
}

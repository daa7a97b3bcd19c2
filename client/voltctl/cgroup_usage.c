/* See cgroup_usage.h. */
#include "client/voltctl/cgroup_usage.h"
#include "client/job_view.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

struct text {
    char s[4096];
};

static bool read_text(const char *path, struct text *ret)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, ret->s, sizeof(ret->s) - 1);
    ret->s[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
    return n > 0;
}

/* Finds the cgroup of the pid in the unified hierarchy. NULL: the job has none of its
 * own, which ends with "/jobs/ID.ATTEMPT". */
static const char *cgroup_of(const json_t *job, struct text *text)
{
    char file[64], own[96];
    (void)snprintf(file, sizeof(file), "/proc/%" PRId64 "/cgroup",
                   job_view_int(job, "pid"));
    (void)snprintf(own, sizeof(own), "/jobs/%.64s.", job_view_string(job, "id"));
    if (!read_text(file, text))
        return NULL;
    char *path = strstr(text->s, "0::/");
    if (!path)
        return NULL;
    path += strlen("0::");
    path[strcspn(path, "\n")] = '\0';
    return strstr(path, own) ? path : NULL;
}

static bool read_file(const char *cgroup, const char *name, struct text *ret)
{
    char path[sizeof(struct text) + 64];
    (void)snprintf(path, sizeof(path), MOUNT "%s/%s", cgroup, name);
    return read_text(path, ret);
}

static uint64_t number_of(const char *cgroup, const char *name)
{
    struct text text;
    return read_file(cgroup, name, &text) ? strtoull(text.s, NULL, 10) : 0;
}

/* Returns the number behind a word that begins a line; 0: none. */
static uint64_t number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

bool cgroup_usage_get(const json_t *job, struct cgroup_usage *ret)
{
    struct text place, cpu;
    const char *cgroup = cgroup_of(job, &place);
    if (!cgroup || !read_file(cgroup, "cpu.stat", &cpu))
        return false;
    *ret = (struct cgroup_usage){.user_usec = number_after(cpu.s, "\nuser_usec "),
                                 .system_usec = number_after(cpu.s, "\nsystem_usec "),
                                 .memory = number_of(cgroup, "memory.current"),
                                 .peak = number_of(cgroup, "memory.peak")};
    return true;
}

/* The processes in the cgroup of a job, and its figures. */
#include "daemon/keeper/cgroup.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/keeper/cgroup_file.h"
#include "daemon/keeper/names.h"
#include "daemon/keeper/tree.h"

int cgroup_enter(int fd)
{
    return cgroup_write(fd, "cgroup.procs", "0");
}

/* Waits until cgroup.events has the event. Returns whether it had in time; if_gone: the
 * result for a removed cgroup. */
static bool await_event(int dir_fd, const char *event, uint64_t limit_usec, bool if_gone)
{
    const uint64_t deadline = mono_usec() + limit_usec;
    struct cgroup_text text;
    bool is = if_gone;
    int fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && cgroup_read_fd(fd, &text)) {
        const uint64_t now = mono_usec();
        is = strstr(text.s, event) != NULL;
        if (is || now >= deadline)
            break;
        const uint64_t rest = (deadline - now + 999) / 1000;
        struct pollfd events = {.fd = fd, .events = POLLPRI};
        (void)poll(&events, 1, rest < 60000 ? (int)rest : 60000);
        is = if_gone;
    }
    if (fd >= 0)
        (void)close(fd);
    return is;
}

bool cgroup_await_empty(int fd, uint64_t limit_usec)
{
    return fd < 0 || await_event(fd, "populated 0", limit_usec, true);
}

void cgroup_kill(int fd)
{
    if (fd >= 0)
        (void)cgroup_write(fd, "cgroup.kill", "1");
}

bool cgroup_freeze(int fd, uint64_t limit_usec)
{
    bool stands = cgroup_write(fd, "cgroup.freeze", "1") == 0 &&
                  await_event(fd, "frozen 1", limit_usec, false);
    if (!stands)
        cgroup_thaw(fd);
    return stands;
}

void cgroup_thaw(int fd)
{
    if (fd >= 0)
        (void)cgroup_write(fd, "cgroup.freeze", "0");
}

/* --- members ------------------------------------------------------------------------ */

struct members {
    int fd;
    unsigned depth;
    uint32_t n, most, *named;
};

static void add_member(struct members *m, uint32_t pid)
{
    if (m->n < m->most)
        m->named[m->n] = pid;
    m->n++;
}

static void add_procs(struct members *m, int dir_fd)
{
    char buf[4096];
    uint32_t pid = 0;
    ssize_t n;
    int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] != '\n') {
                pid = pid * 10 + (uint32_t)(buf[i] - '0');
                continue;
            }
            add_member(m, pid);
            pid = 0;
        }
    if (fd >= 0)
        (void)close(fd);
}

static int add_below(const char *name, void *arg)
{
    struct members *m = arg;
    const int above = m->fd;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || m->depth == CGROUP_BELOW_MAX)
        return 0;
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    m->fd = fd;
    m->depth++;
    add_procs(m, fd);
    (void)each_name(fd, ".", add_below, m);
    m->depth--;
    m->fd = above;
    (void)close(fd);
    return 0;
}

uint32_t cgroup_members(int fd, uint32_t *named, uint32_t n)
{
    struct members m = {.fd = fd, .most = n, .named = named};
    if (fd < 0)
        return 0;
    add_procs(&m, fd);
    (void)each_name(fd, ".", add_below, &m);
    return m.n;
}

/* --- figures ------------------------------------------------------------------------ */

void cgroup_account(int fd, struct record_exited *x)
{
    struct cgroup_text text;
    x->flags |= RECORD_CONTAINED;
    if (cgroup_read(fd, "memory.peak", &text))
        x->memory_peak = strtoull(text.s, NULL, 10);
    if (cgroup_read(fd, "memory.events", &text))
        x->oom_kills = cgroup_number(&text, "oom_kill");
    if (x->oom_kills > 0 && cgroup_read(fd, "memory.events.local", &text) &&
        cgroup_number(&text, "oom") > 0)
        x->flags |= RECORD_OOM_OWN;
}

/* Process trees: what and why is in tree.h. No allocation: one static table per process,
 * touched only where a tree is walked. */
#include "daemon/keeper/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TREE_MAX 8192 /* processes of one walk; the next round takes the rest */

static struct {
    size_t n;
    struct proc proc[TREE_MAX];
} tree;

static uint64_t now_usec(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t mono_usec(void)
{
    return now_usec(CLOCK_MONOTONIC);
}

uint64_t real_usec(void)
{
    return now_usec(CLOCK_REALTIME);
}

/* Reads a small file of /proc whole, as a string. Returns its length; -errno. */
static ssize_t read_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n;
    do
        n = read(fd, buf, size - 1);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        buf[n] = '\0';
    else
        n = -errno;
    (void)close(fd);
    return n;
}

int proc_read(pid_t pid, struct proc *ret)
{
    char path[32], buf[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t n = read_text(path, buf, sizeof(buf));
    if (n <= 0)
        return n == 0 || n == -ENOENT ? -ESRCH : (int)n;
    char *p = strrchr(buf, ')'); /* the name may hold anything, also ") R 1" */
    if (p == NULL || strlen(p) < 4)
        return -ESRCH;
    struct proc proc = {.pid = pid, .state = p[2]};
    p += 3;
    for (int field = 4; field <= 22; field++) {
        unsigned long long v = strtoull(p, &p, 10);
        if (field == 4)
            proc.parent = (pid_t)v;
        else if (field == 6)
            proc.session = (pid_t)v;
        else if (field == 22)
            proc.start = v;
    }
    *ret = proc;
    return 0;
}

int proc_signal(pid_t pid, uint64_t start, int sig)
{
    struct proc proc;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return -ESRCH;
    int r = proc_read(pid, &proc);
    if (r == 0 && (proc.start != start || proc.state == 'Z' || proc.state == 'X'))
        r = -ESRCH;
    if (r == 0 && syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

static bool in_tree(pid_t pid)
{
    for (size_t i = 0; i < tree.n; i++)
        if (tree.proc[i].pid == pid)
            return true;
    return false;
}

static void tree_add(const struct proc *proc)
{
    if (tree.n < TREE_MAX && proc->pid != getpid() && !in_tree(proc->pid))
        tree.proc[tree.n++] = *proc;
}

/* Calls fn for every number among the names of a folder of /proc. Without opendir, which
 * allocates. */
static void each_number(const char *path, void (*fn)(pid_t n, void *arg), void *arg)
{
    _Alignas(struct dirent64) char buf[4096];
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    long len;
    while ((len = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
        for (long at = 0; at < len;) {
            struct dirent64 *e = (struct dirent64 *)(void *)(buf + at);
            if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
                fn((pid_t)strtol(e->d_name, NULL, 10), arg);
            at += e->d_reclen;
        }
    }
    (void)close(fd);
}

/* Adds the children of one thread of *arg; a child may since have moved to the shim. */
static void add_children(pid_t thread, void *arg)
{
    char path[64], buf[4096];
    pid_t parent = *(const pid_t *)arg;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
                   (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    ssize_t n = 0;
    while (fd >= 0 && (n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
        have += (size_t)n;
        buf[have] = '\0';
        char *p = buf, *space;
        while ((space = strchr(p, ' ')) != NULL) {
            struct proc proc;
            if (proc_read((pid_t)strtol(p, NULL, 10), &proc) == 0)
                tree_add(&proc);
            p = space + 1;
        }
        have = (size_t)(buf + have - p); /* the start of a number that goes on */
        memmove(buf, p, have);
    }
    if (fd >= 0)
        (void)close(fd);
}

static void walk_children(pid_t root)
{
    char path[32];
    for (size_t next = 0;; next++) {
        pid_t pid = next == 0 ? root : tree.proc[next - 1].pid;
        (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        each_number(path, add_children, &pid);
        if (next >= tree.n)
            return;
    }
}

struct search {
    const struct tree_root *root;
};

static void add_related(pid_t pid, void *arg)
{
    const struct search *s = arg;
    struct proc proc;
    if (in_tree(pid) || proc_read(pid, &proc) < 0)
        return;
    bool ours = s->root->shim != 0
                    ? proc.parent == s->root->shim
                    : (pid == s->root->main || proc.session == s->root->main) &&
                          proc.start >= s->root->main_start;
    if (ours || in_tree(proc.parent))
        tree_add(&proc);
}

/* Searches all of /proc until a pass adds nobody. */
static void walk_proc(const struct tree_root *root)
{
    struct search s = {root};
    size_t before;
    do {
        before = tree.n;
        each_number("/proc", add_related, &s);
    } while (tree.n > before);
}

static bool kernel_lists_children(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

static bool is_dead(const struct proc *p)
{
    return p->state == 'Z' || p->state == 'X';
}

/* Those of an earlier walk that still live, as they are now. */
static void keep_living(void)
{
    size_t n = 0;
    for (size_t i = 0; i < tree.n; i++) {
        struct proc now;
        if (proc_read(tree.proc[i].pid, &now) == 0 && now.start == tree.proc[i].start &&
            !is_dead(&now))
            tree.proc[n++] = now;
    }
    tree.n = n;
}

/* Adds to what earlier walks found: who has lost its parent, to a walk's own KILL, could
 * not be found a second time where there is no shim. */
static void tree_walk(const struct tree_root *root)
{
    keep_living();
    if (root->shim != 0 && kernel_lists_children())
        walk_children(root->shim);
    else
        walk_proc(root);
}

uint32_t tree_signal(const struct tree_root *root, int sig)
{
    uint32_t reached = 0;
    tree.n = 0;
    tree_walk(root);
    for (size_t i = 0; i < tree.n; i++)
        if (proc_signal(tree.proc[i].pid, tree.proc[i].start, sig) == 0)
            reached++;
    return reached;
}

static bool is_stopped(const struct proc *p)
{
    return p->state == 'T' || p->state == 't';
}

/* Walks and stops until a walk finds nobody that still ran. A parent in vfork cannot stop
 * while its child is stopped, so the passes are bounded; the next round finds the rest.
 */
static void tree_freeze(const struct tree_root *root, uint64_t deadline)
{
    uint32_t fresh = 1;
    for (int pass = 0; fresh > 0 && pass < 16 && mono_usec() < deadline; pass++) {
        fresh = 0;
        tree_walk(root);
        for (size_t i = 0; i < tree.n; i++) {
            const struct proc *p = &tree.proc[i];
            if (!is_stopped(p) && !is_dead(p) &&
                proc_signal(p->pid, p->start, SIGSTOP) == 0)
                fresh++;
        }
    }
}

static void count_survivors(struct tree_result *ret)
{
    ret->survivors = ret->named_n = 0;
    for (size_t i = 0; i < tree.n; i++) {
        if (is_dead(&tree.proc[i]))
            continue;
        ret->survivors++;
        if (ret->named_n < sizeof(ret->named) / sizeof(ret->named[0]))
            ret->named[ret->named_n++] = (uint32_t)tree.proc[i].pid;
    }
}

void tree_kill(const struct tree_root *root, uint64_t limit_usec, struct tree_result *ret)
{
    uint64_t deadline = mono_usec() + limit_usec;
    struct tree_result result = {0};
    tree.n = 0;
    for (int empty = 0;;) {
        tree_walk(root);
        count_survivors(&result);
        /* One empty walk may have missed who was just moving to the shim. */
        if (result.survivors > 0)
            empty = 0;
        else if (++empty == 2)
            break;
        if (mono_usec() >= deadline)
            break;
        if (result.survivors == 0)
            continue;
        tree_freeze(root, deadline);
        for (size_t i = 0; i < tree.n; i++)
            if (proc_signal(tree.proc[i].pid, tree.proc[i].start, SIGKILL) == 0)
                result.reached++;
        /* The dying need a moment to be gone; nothing tells when all of them are. */
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    *ret = result;
}

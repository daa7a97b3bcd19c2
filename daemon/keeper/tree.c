/* Process trees: see tree.h. No allocation: one static table per process, touched only
 * when a tree is walked. */
#include "daemon/keeper/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "daemon/keeper/names.h"

#define FLAG_EXITING 4 /* PF_EXITING, in field 9 of /proc/<pid>/stat */

#define TREE_MAX 8192 /* processes per walk; the next round takes the rest */

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

static ssize_t read_some(int fd, void *buf, size_t size)
{
    ssize_t n;
    do
        n = read(fd, buf, size);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Reads a small file of /proc as a string. Returns its length or -errno. */
static ssize_t read_text(const char *path, char *buf, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read_some(fd, buf, size - 1);
    if (n >= 0)
        buf[n] = '\0';
    else
        n = -errno;
    (void)close(fd);
    return n;
}

/* Indexes of numbers from field 4 of /proc/<pid>/stat on. The parser is written out, as
 * sscanf() takes ten times as many instructions and a tree has many processes. */
enum {
    STAT_PARENT,
    STAT_SESSION = 2,
    STAT_FLAGS = 5,
    STAT_THREADS = 16,
    STAT_START = 18
};
#define STAT_FIELDS (STAT_START + 1)

static bool parse_numbers(const char *p, int64_t ret[static STAT_FIELDS])
{
    for (unsigned i = 0; i < STAT_FIELDS; i++) {
        if (*p++ != ' ')
            return false;
        bool negative = *p == '-';
        uint64_t n = 0;
        p += negative;
        if (*p < '0' || *p > '9')
            return false;
        while (*p >= '0' && *p <= '9')
            n = n * 10 + (uint64_t)(*p++ - '0');
        ret[i] = (int64_t)(negative ? -n : n);
    }
    return true;
}

int proc_read(pid_t pid, struct proc *ret)
{
    char path[32], buf[1024];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    ssize_t n = read_text(path, buf, sizeof(buf));
    if (n < 0)
        return n == -ENOENT ? -ESRCH : (int)n;
    const char *p = strrchr(buf, ')'); /* the name may contain anything, also ") R 1" */
    int64_t field[STAT_FIELDS];
    if (p == NULL || p[1] != ' ' || p[2] == '\0' || !parse_numbers(p + 3, field))
        return -ESRCH;
    char state = p[2];
    *ret = (struct proc){
        .pid = pid,
        .parent = (pid_t)field[STAT_PARENT],
        .session = (pid_t)field[STAT_SESSION],
        .start = (uint64_t)field[STAT_START],
        .stopped = strchr("Tt", state) != NULL,
        /* The main thread may have ended while others run on. */
        .dead = strchr("ZX", state) != NULL && field[STAT_THREADS] <= 1,
        .exiting = (field[STAT_FLAGS] & FLAG_EXITING) != 0,
    };
    return 0;
}

uint64_t proc_tick(void)
{
    const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * per_second +
           (uint64_t)now.tv_nsec / (UINT64_C(1000000000) / per_second);
}

/* Avoids reading /proc if the tick is still the same, as it mostly is. */
int proc_own_start(uint64_t before, uint64_t *ret)
{
    struct proc self;
    if (proc_tick() == before) {
        *ret = before;
        return 0;
    }
    int r = proc_read(getpid(), &self);
    if (r == 0)
        *ret = self.start;
    return r;
}

int proc_signal(pid_t pid, uint64_t start, int sig)
{
    struct proc proc;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return -ESRCH;
    int r = proc_read(pid, &proc);
    if (r == 0 && (proc.start != start || proc.dead))
        r = -ESRCH;
    if (r == 0 && syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

/* Takes one byte of the text "NAME=value\0NAME=value\0...". *at counts matching bytes of
 * the name, and after `found` bytes of the value. Returns true at the end of the
 * value. */
static bool take_byte(char c, const char *name, bool *found, size_t *at, char *ret,
                      size_t size)
{
    if (*found) {
        if (*at < size)
            ret[*at] = c;
        (*at)++;
        return c == '\0';
    }
    if (*at != SIZE_MAX && c == '=' && name[*at] == '\0') {
        *found = true;
        *at = 0;
    } else if (c == '\0') {
        *at = 0;
    } else {
        *at = *at != SIZE_MAX && c == name[*at] ? *at + 1 : SIZE_MAX;
    }
    return false;
}

bool proc_variable(pid_t pid, const char *name, char *ret, size_t size)
{
    char path[32], buf[4096];
    bool found = false, whole = false;
    size_t at = 0;
    ssize_t n;
    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !whole && (n = read_some(fd, buf, sizeof(buf))) > 0)
        for (ssize_t i = 0; i < n && !whole; i++)
            whole = take_byte(buf[i], name, &found, &at, ret, size);
    if (fd >= 0)
        (void)close(fd);
    return whole && at <= size;
}

/* Returns whether the pid now belongs to another process; false if to none. */
static bool is_other(pid_t pid, uint64_t start)
{
    struct proc now;
    return proc_read(pid, &now) == 0 && now.start != start;
}

/* Returns the process; NULL: not in the tree. */
static const struct proc *find(pid_t pid)
{
    for (size_t i = 0; i < tree.n; i++)
        if (tree.proc[i].pid == pid)
            return &tree.proc[i];
    return NULL;
}

static void tree_add(const struct proc *proc)
{
    if (tree.n < TREE_MAX && !proc->dead && find(proc->pid) == NULL)
        tree.proc[tree.n++] = *proc;
}

/* Returns the number that a name in /proc is; 0: it is none. */
static pid_t number_of(const char *name)
{
    return name[0] >= '1' && name[0] <= '9' ? (pid_t)strtol(name, NULL, 10) : 0;
}

static void add_child(pid_t pid)
{
    struct proc proc;
    if (proc_read(pid, &proc) == 0)
        tree_add(&proc);
}

/* Adds the children of one thread of process *arg. A child may have moved to the shim
 * since. */
static int add_children(const char *thread, void *arg)
{
    char path[64], buf[4096];
    pid_t parent = *(const pid_t *)arg, child = 0;
    if (number_of(thread) == 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent,
                   (int)number_of(thread));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    while (fd >= 0 && (n = read_some(fd, buf, sizeof(buf))) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] != ' ') {
                child = child * 10 + (buf[i] - '0');
                continue;
            }
            add_child(child);
            child = 0;
        }
    if (fd >= 0)
        (void)close(fd);
    return 0;
}

/* Walks down from the shim. Drops the children of a pid that belongs to another process
 * now: it may have been reused before they were listed. */
static void walk_children(const struct tree_root *root)
{
    char path[32];
    for (size_t next = 0;; next++) {
        const size_t before = tree.n;
        pid_t pid = next == 0 ? root->shim : tree.proc[next - 1].pid;
        uint64_t start = next == 0 ? root->shim_start : tree.proc[next - 1].start;
        (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        (void)each_name(AT_FDCWD, path, add_children, &pid);
        if (tree.n > before && is_other(pid, start))
            tree.n = before;
        if (next >= tree.n)
            return;
    }
}

/* Returns whether a process belongs to the tree. The pid of a main process whose shim has
 * died may be another process's by now. Then its session is empty: the kernel does not
 * reuse a pid that a session has. */
static bool is_related(const struct tree_root *root, const struct proc *proc)
{
    const struct proc *parent = find(proc->parent);
    if (parent != NULL)
        return !is_other(parent->pid, parent->start);
    if (root->shim != 0)
        return proc->parent == root->shim && !is_other(root->shim, root->shim_start);
    /* While the keeper is the caller's parent, its pid belongs to no other process. */
    if (root->keeper != 0 && proc->parent == root->keeper &&
        proc->session != root->session && getppid() == root->keeper &&
        !root->is_others(proc->pid, root->arg))
        return true;
    return (proc->pid == root->main || proc->session == root->main) &&
           proc->start >= root->main_start && !is_other(root->main, root->main_start);
}

static int add_related(const char *name, void *arg)
{
    const struct tree_root *root = *(const struct tree_root **)arg;
    struct proc proc;
    pid_t pid = number_of(name);
    if (pid != 0 && find(pid) == NULL && proc_read(pid, &proc) == 0 &&
        is_related(root, &proc))
        tree_add(&proc);
    return 0;
}

/* Searches all of /proc until a pass finds no more processes. */
static void walk_proc(const struct tree_root *root)
{
    size_t before;
    do {
        before = tree.n;
        (void)each_name(AT_FDCWD, "/proc", add_related, &root);
    } while (tree.n > before);
}

static bool kernel_lists_children(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

/* Drops processes of an earlier walk that have ended, and updates the others. */
static void keep_living(void)
{
    size_t n = 0;
    for (size_t i = 0; i < tree.n; i++) {
        struct proc now;
        if (proc_read(tree.proc[i].pid, &now) == 0 && now.start == tree.proc[i].start &&
            !now.dead)
            tree.proc[n++] = now;
    }
    tree.n = n;
}

/* Adds processes to those that earlier walks found. Without a shim, a process whose
 * parent was killed by an earlier round could not be found again. */
static void tree_walk(const struct tree_root *root)
{
    keep_living();
    if (root->shim != 0 && kernel_lists_children())
        walk_children(root);
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

/* The least number of rounds of signals to a tree, even if time has passed while the
 * machine stood still: a process that got no signal is no survivor. */
#define ROUNDS_MIN 8
#define REST_FIRST 1000000 /* ns between rounds; doubles while nothing changes */
#define REST_LAST  128000000

/* Walks and stops until a walk finds no running process. Returns whether it came to that.
 * A parent in vfork cannot stop while its child is stopped, so passes are bounded, and
 * the next round finds the rest. */
static bool tree_freeze(const struct tree_root *root, uint64_t deadline)
{
    uint32_t fresh = 1;
    for (int pass = 0; fresh > 0 && pass < 16 && mono_usec() < deadline; pass++) {
        fresh = 0;
        tree_walk(root);
        for (size_t i = 0; i < tree.n; i++) {
            const struct proc *p = &tree.proc[i];
            if (!p->stopped && proc_signal(p->pid, p->start, SIGSTOP) == 0)
                fresh++;
        }
    }
    return fresh == 0;
}

uint32_t tree_stop(const struct tree_root *root, uint64_t limit_usec)
{
    const uint64_t deadline = mono_usec() + limit_usec;
    struct timespec rest = {.tv_nsec = REST_FIRST};
    uint32_t reached = 0;
    tree.n = 0;
    while (!tree_freeze(root, deadline) && mono_usec() < deadline) {
        (void)nanosleep(&rest, NULL); /* a signal takes time on a busy machine */
        if (rest.tv_nsec < REST_LAST)
            rest.tv_nsec *= 2;
    }
    for (size_t i = 0; i < tree.n; i++)
        if (proc_signal(tree.proc[i].pid, tree.proc[i].start, SIGSTOP) == 0)
            reached++;
    return reached;
}

/* Sends SIGKILL to all. Returns whether all processes refused it. */
static bool kill_all(uint32_t *reached)
{
    size_t refused = 0;
    for (size_t i = 0; i < tree.n; i++) {
        int r = proc_signal(tree.proc[i].pid, tree.proc[i].start, SIGKILL);
        *reached += r == 0;
        refused += r < 0 && r != -ESRCH;
    }
    return refused == tree.n;
}

static void name_survivors(struct tree_result *ret)
{
    for (size_t i = 0; i < tree.n; i++) {
        if (ret->survivors < TREE_NAMED_MAX)
            ret->named[ret->survivors] = (uint32_t)tree.proc[i].pid;
        ret->survivors++;
    }
}

void tree_kill(const struct tree_root *root, uint64_t limit_usec, struct tree_result *ret)
{
    uint64_t deadline = mono_usec() + limit_usec;
    struct tree_result result = {0};
    struct timespec rest = {.tv_nsec = REST_FIRST};
    size_t before = 0;
    tree.n = 0;
    for (int empty = 0, rounds = 0;; rounds++) {
        tree_walk(root);
        /* A single empty walk may have missed a process that was moving to the shim. */
        empty = tree.n > 0 ? 0 : empty + 1;
        uint64_t now = mono_usec();
        if (empty == 2 || (now >= deadline && rounds >= ROUNDS_MIN))
            break;
        if (empty > 0)
            continue;
        uint64_t share = now + limit_usec / ROUNDS_MIN;
        (void)tree_freeze(root, share > deadline ? share : deadline);
        bool refused = kill_all(&result.reached), changes = tree.n != before;
        if (refused && !changes)
            break; /* for the second time */
        before = tree.n;
        /* Killed processes need a moment to end; no event reports the last. */
        if (changes)
            rest.tv_nsec = REST_FIRST;
        else if (rest.tv_nsec < REST_LAST)
            rest.tv_nsec *= 2;
        (void)nanosleep(&rest, NULL);
    }
    name_survivors(&result);
    *ret = result;
}

/* Becoming the job, in the child of the shim. Every step is checked. The first step that
 * fails is reported as {step, errno}, and the job does not run.
 *
 * The child is a vfork, which runs in the shim's memory on a stack of its own. The shim
 * sleeps until the child's exec or end. So no page tables are copied, and a failed step
 * is reported without a pipe. The child writes slot 1 itself, before anything else, so
 * nothing runs without a record of it. Until its exec it also holds the lock on the
 * record. So a record with a free lock is final, even if the shim was killed meanwhile.
 *
 * The child is born in the cgroup of the job (cgroup.h). To enter it later would wait for
 * all processors.
 *
 * The keeper's start has done what is the same for all jobs: every signal at its default,
 * and /dev/null on 0, 1 and 2. The keeper runs jobs as itself.
 *
 * No allocation. argv and environment are decoded in place: in the message of START, or
 * in a private mapping of the sealed memfd. */
#include "daemon/keeper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/account.h"
#include "daemon/keeper/cgroup.h"
#include "base/poison.h"
#include "daemon/keeper/tree.h"

#define STACK_SIZE (256u << 10) /* plus the launch block: stack_for() */
#define KEPT_SIZE  (STACK_SIZE + KEEPER_MESSAGE_MAX)

/* clone() under the name that ThreadSanitizer does not intercept: it would assume that
 * the child has memory of its own. */
extern int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);

/* Returns the exit status of the child. Not _exit(): AddressSanitizer would clean a stack
 * that it does not know. */
static int child_fail(struct child *c, enum child_step step, int error)
{
    c->error = error;
    c->step = step;
    return 127;
}

/* Writes slot 1. If that fails, nothing may run. */
static int note_start(const struct child *c)
{
    struct record_started s = {
        .pid = (uint32_t)getpid(),
        .shim_pid = (uint32_t)c->shim,
        .shim_start = c->shim_start,
        .keeper_pid = (uint32_t)c->keeper,
    };
    int r = proc_own_start(c->fork_tick, &s.pid_start);
    if (r < 0)
        return r;
    s.mono_usec = mono_usec();
    s.real_usec = real_usec();
    return record_write_started(c->args->fd[SHIM_RECORD], c->args->record_seed, &s);
}

static int decode_launch(struct child *c, struct launch *ret)
{
    const struct shim_args *args = c->args;
    if (args->launch != NULL)
        return launch_decode(args->launch, args->launch_size, ret);
    void *map = mmap(NULL, args->launch_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                     args->fd[SHIM_LAUNCH], 0);
    if (map == MAP_FAILED)
        return -errno;
    c->map = map;
    return launch_decode(map, args->launch_size, ret);
}

/* Allows only regular files and /dev/null: opening a FIFO or a device could block the
 * job, or have an effect. */
static int check_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
        return 0;
    return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

/* Puts the file at path on descriptor `target`. O_TRUNC empties the file only after
 * check_kind(). */
static int open_onto(const char *path, int flags, int target)
{
    int fd = open(path, (flags & ~O_TRUNC) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0) /* ENXIO: a FIFO without a reader, or a socket */
        return errno == ENXIO ? -EINVAL : -errno;
    int r = check_kind(fd);
    if (r == 0 && flags & O_TRUNC && ftruncate(fd, 0) < 0 && errno != EINVAL)
        r = -errno; /* EINVAL: /dev/null */
    if (r == 0 && fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
        r = -errno;
    if (r == 0 && dup2(fd, target) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

/* Puts the file or the descriptor on `target`. The path has precedence; without both,
 * `target` stays /dev/null. */
static int dress_fd(const char *path, int flags, int fd, int target)
{
    if (path != NULL)
        return open_onto(path, flags, target);
    if (fd >= 0 && dup2(fd, target) < 0)
        return -errno;
    return 0;
}

static enum child_step dress_stdio(const struct shim_args *args, const struct launch *l,
                                   int *ret_error)
{
    const int out =
        O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | (l->truncate ? O_TRUNC : 0);
    bool own_stderr = l->stderr_path != NULL || args->fd[SHIM_STDERR] >= 0;
    int r = dress_fd(l->stdin_path, O_RDONLY, args->fd[SHIM_STDIN], STDIN_FILENO);
    if (r < 0) {
        *ret_error = -r;
        return CHILD_STEP_STDIN;
    }
    r = dress_fd(l->stdout_path, out, args->fd[SHIM_STDOUT], STDOUT_FILENO);
    if (r < 0) {
        *ret_error = -r;
        return CHILD_STEP_STDOUT;
    }
    r = dress_fd(l->stderr_path, out, own_stderr ? args->fd[SHIM_STDERR] : STDOUT_FILENO,
                 STDERR_FILENO);
    *ret_error = -r;
    return r < 0 ? CHILD_STEP_STDERR : CHILD_STEP_NONE;
}

/* Limits that every child begins with: the shim's. The first child reads them in the
 * shim's memory, so later children need not. */
static struct rlimit inherited[LAUNCH_RLIMITS_MAX];
static bool inherited_known;

static int read_inherited(void)
{
    for (unsigned i = 0; i < LAUNCH_RLIMITS_MAX; i++)
        if (getrlimit((__rlimit_resource_t)i, &inherited[i]) < 0)
            return -errno;
    inherited_known = true;
    return 0;
}

/* Sets the submitter's resource limits, as far as the keeper's hard limits allow. The
 * last step, as fewer descriptors or less memory would make earlier steps fail. */
static int limit_resources(const struct launch *l)
{
    if (l->nrlimits > 0 && !inherited_known) {
        int r = read_inherited();
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < l->nrlimits; i++) {
        const struct launch_rlimit *want = &l->rlimits[i];
        const struct rlimit *own = &inherited[want->resource];
        struct rlimit limit = *own;
        if (want->hard < limit.rlim_max)
            limit.rlim_max = want->hard;
        limit.rlim_cur = want->soft < limit.rlim_max ? want->soft : limit.rlim_max;
        if (limit.rlim_cur == own->rlim_cur && limit.rlim_max == own->rlim_max)
            continue; /* mostly equal: saves the call */
        if (setrlimit((__rlimit_resource_t)want->resource, &limit) < 0)
            return -errno;
    }
    return 0;
}

static int child_run(void *arg)
{
    struct child *c = arg;
    const struct shim_args *args = c->args;
    struct launch l;
    sigset_t none;
    int error;

    CRASH_POINT("child-born");
    if ((error = note_start(c)) < 0)
        return child_fail(c, CHILD_STEP_FORK, -error);
    CRASH_POINT("child-started");
    if (c->enters && (error = cgroup_enter(c->cgroup_fd)) < 0)
        return child_fail(c, CHILD_STEP_CGROUP, -error);
    if (setsid() < 0)
        return child_fail(c, CHILD_STEP_SESSION, errno);
    (void)sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        return child_fail(c, CHILD_STEP_SIGNALS, errno);
    if ((error = decode_launch(c, &l)) == 0 && (l.script_at > 0) != (c->script != NULL))
        error = -EBADMSG;
    if (error < 0)
        return child_fail(c, CHILD_STEP_LAUNCH, -error);
    /* A failure is ignored: an account with a lower priority cannot raise it. */
    (void)setpriority(PRIO_PROCESS, 0, 0);
    (void)umask(args->umask);
    if (chdir(l.cwd != NULL ? l.cwd : account_home()) < 0)
        return child_fail(c, CHILD_STEP_CWD, errno);
    enum child_step step = dress_stdio(args, &l, &error);
    if (step != CHILD_STEP_NONE)
        return child_fail(c, step, error);
    if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        return child_fail(c, CHILD_STEP_CLOSE, errno);
    if ((error = limit_resources(&l)) < 0)
        return child_fail(c, CHILD_STEP_LIMITS, -error);
    if (l.adds_account)
        account_add(&l);
    CRASH_POINT("child-exec");
    if (l.script_at > 0)
        l.argv[l.script_at] = (char *)(uintptr_t)c->script;
    environ = l.env; /* execvpe() searches its PATH */
    (void)execvpe(l.argv[0], l.argv, l.env);
    return child_fail(c, CHILD_STEP_EXEC, errno);
}

/* The stack of all children that need no larger one. Each child has left it, by exec or
 * end, before the next is made. */
static char *kept;

static char *map_stack(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
}

/* Returns a stack. execvpe() copies the argv of a script without "#!" to it, so its size
 * depends on the launch block. MAP_FAILED with errno: no memory. */
static char *stack_for(const struct shim_args *args, size_t *ret_size)
{
    size_t size = (STACK_SIZE + args->launch_size + 4095) & ~(size_t)4095;
    char *stack = kept;
    *ret_size = size;
    if (size > KEPT_SIZE)
        return map_stack(size);
    if (stack == NULL) {
        stack = map_stack(KEPT_SIZE);
        if (stack == MAP_FAILED)
            return stack;
        kept = stack;
    }
    return stack;
}

pid_t child_spawn(struct child *c)
{
    size_t size = 0;
    char *stack = stack_for(c->args, &size);
    if (stack == MAP_FAILED)
        return -errno;
    mem_unpoison(stack, size); /* an earlier child's exec left frames there */
    char **env = environ;
    c->fork_tick = proc_tick();
    pid_t pid = -ENOSYS;
    if (c->cgroup_fd >= 0)
        pid = cgroup_clone(c->cgroup_fd, child_run, stack, size, c);
    if (pid == -ENOSYS) {
        c->enters = c->cgroup_fd >= 0;
        pid = __clone(child_run, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, c);
        pid = pid < 0 ? -errno : pid;
    }
    environ = env;
    if (stack != kept)
        (void)munmap(stack, size);
    if (c->map != NULL)
        (void)munmap(c->map, c->args->launch_size);
    return pid;
}

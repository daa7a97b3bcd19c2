/* Becoming the job, in the child of the shim. Every step is checked; the first that fails
 * is reported as {step, errno} and nothing runs half-dressed.
 *
 * The keeper's own start has done what is the same for all jobs: every signal at its
 * default, /dev/null on 0, 1 and 2. This keeper runs jobs as itself; identity, groups,
 * limits and the cgroup go between the go byte and the umask.
 *
 * No allocation: argv and environment are decoded in a private mapping of the sealed
 * memfd. */
#include "daemon/keeper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/crash.h"

#define FAIL_TRIES 8

_Noreturn static void child_fail(int fd, enum child_step step, int error)
{
    struct child_failure failure = {step, error};
    /* Again if need be: an exit that was not announced would pass for the job's own. */
    for (int tries = 0; tries < FAIL_TRIES; tries++)
        if (write(fd, &failure, sizeof(failure)) == (ssize_t)sizeof(failure))
            break;
    _exit(127);
}

static int reset_oom_score(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, "0", 1) == 1 ? 0 : -errno;
    (void)close(fd);
    return r;
}

static int map_launch(const struct shim_args *args, struct launch *ret)
{
    void *map = mmap(NULL, args->launch_size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                     args->launch_fd, 0);
    return map == MAP_FAILED ? -errno : launch_decode(map, args->launch_size, ret);
}

/* Only regular files and /dev/null: a FIFO or a device could hold the job up or do things
 * when it is merely opened. */
static int check_kind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
        return 0;
    return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

/* Puts the file at path on descriptor `target`. */
static int open_onto(const char *path, int flags, int target)
{
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int r = check_kind(fd);
    if (r == 0 && fcntl(fd, F_SETFL, flags & O_APPEND) < 0)
        r = -errno;
    if (r == 0 && dup2(fd, target) < 0)
        r = -errno;
    (void)close(fd);
    return r;
}

/* A path wins over a descriptor; with neither, `target` keeps /dev/null. */
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
    const int out = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW;
    bool own_stderr = l->stderr_path != NULL || args->stderr_fd >= 0;
    int r = dress_fd(l->stdin_path, O_RDONLY, args->stdin_fd, STDIN_FILENO);
    if (r < 0) {
        *ret_error = -r;
        return CHILD_STEP_STDIN;
    }
    r = dress_fd(l->stdout_path, out, args->stdout_fd, STDOUT_FILENO);
    if (r < 0) {
        *ret_error = -r;
        return CHILD_STEP_STDOUT;
    }
    r = dress_fd(l->stderr_path, out, own_stderr ? args->stderr_fd : STDOUT_FILENO,
                 STDERR_FILENO);
    *ret_error = -r;
    return r < 0 ? CHILD_STEP_STDERR : CHILD_STEP_NONE;
}

_Noreturn void child_run(const struct shim_args *args, int go_fd, int fail_fd)
{
    struct launch l;
    sigset_t none;
    ssize_t n;
    char go;
    int error = 0;

    /* The lock on the record is the shim's alone. */
    (void)close(args->record_fd);
    CRASH_POINT("child-born");
    do
        n = read(go_fd, &go, 1);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        child_fail(fail_fd, CHILD_STEP_FORK, errno);
    if (n == 0)
        _exit(127); /* the shim has been killed, or has a reason of its own */
    CRASH_POINT("child-go");
    if (setsid() < 0)
        child_fail(fail_fd, CHILD_STEP_SESSION, errno);
    if (args->reset_oom_score && (error = reset_oom_score()) < 0)
        child_fail(fail_fd, CHILD_STEP_OOM_SCORE, -error);
    (void)sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0)
        child_fail(fail_fd, CHILD_STEP_SIGNALS, errno);
    if ((error = map_launch(args, &l)) < 0)
        child_fail(fail_fd, CHILD_STEP_LAUNCH, -error);
    (void)umask(args->umask);
    if (chdir(l.cwd != NULL ? l.cwd : "/") < 0)
        child_fail(fail_fd, CHILD_STEP_CWD, errno);
    enum child_step step = dress_stdio(args, &l, &error);
    if (step != CHILD_STEP_NONE)
        child_fail(fail_fd, step, error);
    if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        child_fail(fail_fd, CHILD_STEP_CLOSE, errno);
    CRASH_POINT("child-exec");
    environ = l.env; /* also the PATH that execvpe searches */
    (void)execvpe(l.argv[0], l.argv, l.env);
    child_fail(fail_fd, CHILD_STEP_EXEC, errno);
}

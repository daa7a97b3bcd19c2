/* The shim: one small process per job that outlives keeper and voltd, and writes down how
 * the job ended. It holds the lock on the record from its first instruction to its last.
 *
 * Order, each step safe to die after:
 *   1. own session, subreaper, everything closed but what it needs;
 *   2. the child, which writes slot 1 STARTED before it becomes the job (child.c). A shim
 *      killed before has started nothing;
 *   3. wait; in kill mode `tree`, what the main process left behind gets LINGER to go by
 *      itself and is then killed;
 *   4. slot 2 EXITED; exit: the kernel drops the lock.
 *
 * No allocation, no parsing of input; every signal stays blocked. */
#include "daemon/keeper/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/tree.h"

#define LINGER_USEC     500000
#define KILL_LIMIT_USEC 1000000

/* Closes everything from 3 on but the n descriptors of keep, which may hold -1. 0 or
 * -errno. */
static int close_all_but(const int *keep, size_t n)
{
    for (int next = 3;;) {
        int lowest = -1;
        for (size_t i = 0; i < n; i++)
            if (keep[i] >= next && (lowest < 0 || keep[i] < lowest))
                lowest = keep[i];
        unsigned last = lowest < 0 ? ~0u : (unsigned)lowest - 1;
        if (lowest != next && syscall(SYS_close_range, (unsigned)next, last, 0) < 0)
            return -errno;
        if (lowest < 0)
            return 0;
        next = lowest + 1;
    }
}

static void fill_figures(struct record_exited *x)
{
    struct rusage u;
    x->mono_usec = mono_usec();
    x->real_usec = real_usec();
    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return;
    x->user_usec = (uint64_t)u.ru_utime.tv_sec * 1000000 + (uint64_t)u.ru_utime.tv_usec;
    x->system_usec = (uint64_t)u.ru_stime.tv_sec * 1000000 + (uint64_t)u.ru_stime.tv_usec;
    x->max_rss_kib = (uint64_t)u.ru_maxrss;
    x->minor_faults = (uint64_t)u.ru_minflt;
    x->major_faults = (uint64_t)u.ru_majflt;
    x->blocks_in = (uint64_t)u.ru_inblock;
    x->blocks_out = (uint64_t)u.ru_oublock;
    x->switches_voluntary = (uint64_t)u.ru_nvcsw;
    x->switches_forced = (uint64_t)u.ru_nivcsw;
}

_Noreturn static void shim_end(const struct shim_args *args, struct record_exited *x)
{
    fill_figures(x);
    CRASH_POINT("shim-slot2");
    int r = record_write_exited(args->record_fd, args->record_seed, x);
    CRASH_POINT("shim-slot2-written");
    _exit(r < 0 ? 1 : 0);
}

_Noreturn static void shim_end_unstarted(const struct shim_args *args, int error)
{
    struct record_exited x = {
        .end = RECORD_END_EXEC_FAILED, .status = error, .step = CHILD_STEP_FORK};
    shim_end(args, &x);
}

/* The end of the main process; orphans that end meanwhile are reaped. False: the kernel
 * did not tell, and nothing may be claimed. */
static bool wait_main(pid_t child, struct record_exited *x)
{
    int status = 0;
    pid_t pid;
    do {
        pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno != EINTR)
            return false;
    } while (pid != child);
    if (WIFSIGNALED(status)) {
        x->end = RECORD_END_SIGNAL;
        x->status = WTERMSIG(status);
        x->core_dumped = WCOREDUMP(status) ? 1 : 0;
    } else {
        x->end = RECORD_END_EXIT;
        x->status = WEXITSTATUS(status);
    }
    return true;
}

/* Reaps until no descendant is left or the time has come. Returns whether
 * none is left. */
static bool reap_until(uint64_t deadline)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid > 0)
            continue;
        if (pid < 0 && errno == ECHILD)
            return true;
        uint64_t now = mono_usec();
        if (now >= deadline)
            return false;
        struct timespec rest = {(time_t)((deadline - now) / 1000000),
                                (long)((deadline - now) % 1000000 * 1000)};
        (void)sigtimedwait(&set, NULL, &rest);
    }
}

/* As the subreaper of the tree the shim is the parent of whatever is left. */
static uint32_t clear_tree(void)
{
    const struct tree_root root = {.shim = getpid()};
    struct tree_result result;
    if (reap_until(mono_usec() + LINGER_USEC))
        return 0;
    tree_kill(&root, KILL_LIMIT_USEC, &result);
    return reap_until(mono_usec()) ? 0 : result.survivors;
}

_Noreturn void shim_run(const struct shim_args *args)
{
    const int inherited[] = {args->record_fd, args->launch_fd, args->stdin_fd,
                             args->stdout_fd, args->stderr_fd};
    struct child child = {.args = args, .shim = getpid()};
    struct record_exited x = {0};

    CRASH_POINT("shim-born");
    int r = proc_own_start(args->fork_tick, &child.shim_start);
    if (r == 0)
        r = close_all_but(inherited, sizeof(inherited) / sizeof(inherited[0]));
    if (r < 0)
        shim_end_unstarted(args, -r);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "volt-shim");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        shim_end_unstarted(args, errno);

    pid_t pid = child_spawn(&child);
    if (pid < 0)
        shim_end_unstarted(args, (int)-pid);
    CRASH_POINT("shim-spawned");
    (void)close_all_but(&args->record_fd, 1);
    bool known = wait_main(pid, &x);
    CRASH_POINT("shim-main-ended");
    if (!known)
        _exit(1);
    if (child.step != CHILD_STEP_NONE) {
        x.end = RECORD_END_EXEC_FAILED;
        x.status = child.error;
        x.step = child.step;
        x.core_dumped = 0;
    } else if (args->kill_mode == KEEPER_KILL_TREE) {
        x.survivors = clear_tree();
    }
    shim_end(args, &x);
}

/* The shim: a small process for each job that outlives keeper and voltd, and records how
 * the job ended. The shim holds the lock on the record from receiving the order to the
 * end.
 *
 * Order of steps; it is safe to die after each:
 *   1. once: own process group, subreaper, all closed but the channel of orders. The
 *      shim stays in the keeper's session, which no process of a job is in (tree.h);
 *   2. the order: the record, locked before it was sent, and all that the job needs;
 *   3. the file of the job's script, if it has one (script_file.h);
 *   4. the cgroup of the job, if there can be one (cgroup.h);
 *   5. the child, which writes slot 1 STARTED before it becomes the job (child.c). A
 *      shim killed before that has started nothing;
 *   6. wait; in kill mode `tree`, processes that the main one leaves have LINGER_USEC
 *      to end, then they are killed;
 *   7. the script's file is removed;
 *   8. slot 2 EXITED; the record is closed, so the kernel drops the lock;
 *   9. in kill mode `main`, wait for all processes left: otherwise they would become
 *      the keeper's, and be taken for orphans;
 *  10. the cgroup is removed;
 *  11. with a process left, exit. Otherwise nothing of the job is left in the shim, and
 *      the next order may come (shim_pool.h). The figures are sums over the waits:
 *      RUSAGE_CHILDREN would include all earlier jobs.
 *
 * No allocation, no parsing of input; every signal stays blocked. */
#include "daemon/keeper/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/cgroup.h"
#include "daemon/keeper/script_file.h"
#include "daemon/keeper/tree.h"

#define LINGER_USEC     500000
#define KILL_LIMIT_USEC 1000000

struct shim {
    int channel;
    pid_t pid, keeper;
    uint64_t start;
    struct shim_args order;
    struct record_exited end;
    struct script_file script;
    int cgroup; /* of the job; -1: none */
    _Alignas(8) uint8_t launch[KEEPER_INLINE_MAX];
};

/* Calls wait4() for any child, and adds its figures. */
static pid_t reap_one(struct record_exited *x, int *ret_status, int options)
{
    struct rusage u;
    pid_t pid = wait4(-1, ret_status, options, &u);
    if (pid <= 0)
        return pid;
    x->user_usec += (uint64_t)u.ru_utime.tv_sec * 1000000 + (uint64_t)u.ru_utime.tv_usec;
    x->system_usec +=
        (uint64_t)u.ru_stime.tv_sec * 1000000 + (uint64_t)u.ru_stime.tv_usec;
    if ((uint64_t)u.ru_maxrss > x->max_rss_kib)
        x->max_rss_kib = (uint64_t)u.ru_maxrss;
    x->minor_faults += (uint64_t)u.ru_minflt;
    x->major_faults += (uint64_t)u.ru_majflt;
    x->blocks_in += (uint64_t)u.ru_inblock;
    x->blocks_out += (uint64_t)u.ru_oublock;
    x->switches_voluntary += (uint64_t)u.ru_nvcsw;
    x->switches_forced += (uint64_t)u.ru_nivcsw;
    return pid;
}

/* Closes all descriptors from 3 on but `keep`, which is above 3. Returns 0 or -errno. */
static int close_all_but(int keep)
{
    if (syscall(SYS_close_range, 3u, (unsigned)keep - 1, 0) < 0)
        return -errno;
    return syscall(SYS_close_range, (unsigned)keep + 1, ~0u, 0) < 0 ? -errno : 0;
}

/* Waits for the end of the main process, and reaps orphans that end meanwhile. Returns
 * false if the kernel does not report the end, so that it is unknown. */
static bool wait_main(pid_t child, struct record_exited *x)
{
    int status = 0;
    pid_t pid;
    do {
        pid = reap_one(x, &status, 0);
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

/* Reaps until no descendant is left, or until the deadline. Counts processes that SIGKILL
 * ended in *killed, if not NULL. Returns whether none is left. */
static bool reap_until(struct record_exited *x, uint64_t deadline, uint32_t *killed)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (;;) {
        int status = 0;
        pid_t pid = reap_one(x, &status, WNOHANG);
        if (pid > 0) {
            if (killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                (*killed)++;
            continue;
        }
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

/* Ends all processes left, whose parent the shim is as subreaper. Returns whether none is
 * left. */
static bool clear_tree(struct shim *self)
{
    const struct tree_root root = {.shim = self->pid, .shim_start = self->start};
    struct record_exited *x = &self->end;
    struct tree_result result;
    if (reap_until(x, mono_usec() + LINGER_USEC, NULL))
        return true;
    /* Also kills processes of other users. tree_kill() then kills those that have
     * moved. */
    cgroup_kill(self->cgroup);
    if (self->cgroup >= 0 &&
        reap_until(x, mono_usec() + KILL_LIMIT_USEC, &x->left_killed))
        return true;
    tree_kill(&root, KILL_LIMIT_USEC, &result);
    if (reap_until(x, mono_usec(), &x->left_killed))
        return true;
    x->survivors = result.survivors;
    memcpy(x->survivor, result.named, sizeof(x->survivor));
    return false;
}

/* Closes all descriptors of the order but the record. */
static void close_order(const struct shim *self)
{
    for (unsigned i = SHIM_RECORD + 1; i < SHIM_FDS; i++)
        if (self->order.fd[i] >= 0)
            (void)close(self->order.fd[i]);
}

static void fail_job(struct record_exited *x, enum child_step step, int error)
{
    x->end = RECORD_END_EXEC_FAILED;
    x->status = error;
    x->step = step;
    x->core_dumped = 0;
}

/* Runs the child, to the end of the job. Returns whether none of its processes is
 * left. */
static bool run_child(struct shim *self, const char *script)
{
    struct child child = {.args = &self->order,
                          .script = script,
                          .cgroup_fd = self->cgroup,
                          .shim = self->pid,
                          .shim_start = self->start,
                          .keeper = self->keeper};
    struct record_exited *x = &self->end;
    pid_t pid = child_spawn(&child);
    close_order(self);
    if (pid < 0) {
        fail_job(x, CHILD_STEP_FORK, (int)-pid);
        return true;
    }
    CRASH_POINT("shim-spawned");
    bool known = wait_main(pid, x);
    CRASH_POINT("shim-main-ended");
    if (!known)
        _exit(1);
    if (child.step != CHILD_STEP_NONE) {
        fail_job(x, child.step, child.error);
        return true;
    }
    return self->order.kill_mode == KEEPER_KILL_TREE ? clear_tree(self)
                                                     : reap_until(x, 0, NULL);
}

/* Makes the cgroup and runs the child in it. Returns likewise. */
static bool contain_child(struct shim *self, const char *script)
{
    int r = cgroup_make(&self->order.key, &self->order.limits, &self->cgroup);
    if (r < 0) {
        close_order(self);
        fail_job(&self->end, CHILD_STEP_CGROUP, -r);
        return true;
    }
    bool clean = run_child(self, script);
    if (self->cgroup >= 0)
        cgroup_account(self->cgroup, &self->end);
    return clean;
}

/* Makes the script's file, and runs the job. Returns likewise. */
static bool run_job(struct shim *self)
{
    const int text = self->order.fd[SHIM_SCRIPT];
    if (text < 0)
        return contain_child(self, NULL);
    int r = script_file_make(&self->script, &self->order.key, text);
    if (r < 0) {
        close_order(self);
        fail_job(&self->end, CHILD_STEP_SCRIPT, -r);
        return true;
    }
    bool clean = contain_child(self, self->script.path);
    script_file_fini(&self->script);
    return clean;
}

static void write_end(struct shim *self)
{
    self->end.mono_usec = mono_usec();
    self->end.real_usec = real_usec();
    CRASH_POINT("shim-slot2");
    int record = self->order.fd[SHIM_RECORD];
    int r = record_write_exited(record, self->order.record_seed, &self->end);
    CRASH_POINT("shim-slot2-written");
    if (r < 0)
        _exit(1);
    (void)close(record);
}

/* Receives the next order. Returns false if none will come. */
static bool take_order(struct shim *self)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(self->order.fd))];
    struct iovec iov[] = {{&self->order, sizeof(self->order)},
                          {self->launch, sizeof(self->launch)}};
    struct msghdr msg = {.msg_iov = iov,
                         .msg_iovlen = 2,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(self->channel, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *h = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (h == NULL || (msg.msg_flags & MSG_CTRUNC) != 0)
        /* also without room for descriptors: nothing was started */
        return false;
    const int *next = (const int *)(const void *)CMSG_DATA(h);
    for (unsigned i = 0; i < SHIM_FDS; i++)
        if (self->order.fd[i] >= 0)
            self->order.fd[i] = *next++;
    if (self->order.launch != NULL)
        self->order.launch = self->launch;
    memset(&self->end, 0, sizeof(self->end));
    self->cgroup = -1;
    return true;
}

/* Does step 1. Returns 0 or -errno. */
static int settle(struct shim *self, uint64_t fork_tick)
{
    (void)prctl(PR_SET_NAME, "volt-shim");
    int r = close_all_but(self->channel);
    if (r == 0)
        r = proc_own_start(fork_tick, &self->start);
    (void)setpgid(0, 0);
    if (r == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        r = -errno;
    return r;
}

/* Removes the cgroup. A process still in the cgroup of an ended tree was moved there, so
 * it is killed. */
static void leave_cgroup(struct shim *self)
{
    if (self->cgroup >= 0 && !cgroup_remove(&self->order.key) &&
        self->order.kill_mode == KEEPER_KILL_TREE) {
        cgroup_kill(self->cgroup);
        (void)cgroup_await_empty(self->cgroup, KILL_LIMIT_USEC);
        (void)cgroup_remove(&self->order.key);
    }
    if (self->cgroup >= 0)
        (void)close(self->cgroup);
}

static void tell_end(const struct shim *self)
{
    while (send(self->channel, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
        ;
}

_Noreturn void shim_run(int channel, pid_t keeper, uint64_t fork_tick)
{
    static struct shim self;
    bool clean = true;
    CRASH_POINT("shim-born");
    self.channel = channel;
    self.keeper = keeper;
    self.pid = getpid();
    int r = settle(&self, fork_tick);
    while (clean && take_order(&self)) {
        clean = r == 0 && run_job(&self);
        if (r < 0)
            fail_job(&self.end, CHILD_STEP_FORK, -r);
        write_end(&self);
        if (!clean && self.order.kill_mode == KEEPER_KILL_MAIN)
            clean = reap_until(&self.end, UINT64_MAX, NULL);
        leave_cgroup(&self);
        CRASH_POINT("shim-idle");
        if (clean)
            tell_end(&self);
    }
    _exit(0);
}

/* Actions of the keeper: starts a job, signals a job. */
#include "daemon/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/cgroup.h"
#include "daemon/keeper/shim_pool.h"
#include "daemon/keeper/tree.h"

#define KILL_LIMIT_USEC 1000000
#define SLOT_WAIT_USEC  1000000

/* Checks that the file cannot change or shrink while it is read. */
static int check_sealed(int fd, const uint64_t *size)
{
    const int need = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return errno == EINVAL ? -EBADMSG : -errno; /* no memfd */
    if (fstat(fd, &st) < 0)
        return -errno;
    return (seals & need) == need && (!size || (uint64_t)st.st_size == *size) ? 0
                                                                              : -EBADMSG;
}

pid_t start_job(struct keeper_start *m, const int *fds, bool may_reuse)
{
    const int *next = fds;
    struct stat st;
    struct shim_args args = {
        .key = keeper_key_unpack(&m->key),
        .record_seed = m->seed,
        .launch_size = m->launch_size,
        .umask = (mode_t)m->umask,
        .kill_mode = m->kill_mode,
        .limits = m->limits,
    };
    /* The initialiser has no order of evaluation, so these follow. */
    if (m->flags & KEEPER_START_INLINE)
        args.launch = m + 1;
    args.fd[SHIM_RECORD] = *next++;
    args.fd[SHIM_LAUNCH] = args.launch == NULL ? *next++ : -1;
    for (unsigned i = 0; i < KEEPER_FDS_NAMED; i++)
        args.fd[SHIM_STDIN + i] = m->fds & KEEPER_FD_STDIN << i ? *next++ : -1;
    int r = fstat(args.fd[SHIM_RECORD], &st) < 0 ? -errno : 0;
    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_size != RECORD_SIZE))
        r = -EBADMSG;
    if (r == 0 && args.launch == NULL)
        r = check_sealed(args.fd[SHIM_LAUNCH], &args.launch_size);
    if (r == 0 && args.fd[SHIM_SCRIPT] >= 0)
        r = check_sealed(args.fd[SHIM_SCRIPT], NULL);
    if (r < 0)
        return r;
    pid_t pid = shim_pool_start(&args, may_reuse);
    CRASH_POINT("keeper-forked");
    return pid;
}

/* Reads the record of a job that can be signalled. Returns:
 *   0
 *   -ESRCH   the job has ended or never started
 *   -EAGAIN  its shim has not written slot 1 in time
 *   -EIO     the record is damaged
 *   -errno */
static int find_job(const struct keeper_self *self, int fd, const struct job_key *key,
                    struct record *ret)
{
    uint64_t deadline = mono_usec() + SLOT_WAIT_USEC;
    for (;;) {
        int r = record_probe_fd(fd, key, self->boot_id, ret);
        if (r < 0)
            return r;
        if (ret->verdict == RECORD_DAMAGED)
            return -EIO;
        if (ret->verdict != RECORD_RUNNING && ret->verdict != RECORD_SHIM_KILLED)
            return -ESRCH;
        if (ret->has_started)
            return 0;
        /* The shim is between its fork and slot 1. */
        if (mono_usec() >= deadline)
            return -EAGAIN;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void signal_tree(const struct tree_root *root, int sig, struct keeper_reply *reply)
{
    reply->reached =
        sig == SIGSTOP ? tree_stop(root, KILL_LIMIT_USEC) : tree_signal(root, sig);
    reply->status = reply->reached > 0 ? 0 : -ESRCH;
}

/* Reads the attempt that the environment of a process names. Returns false if it names
 * none. */
static bool names_attempt(pid_t pid, struct job_key *ret)
{
    char id[JOB_KEY_TEXT_MAX], attempt[16], name[sizeof(id) + sizeof(attempt)];
    if (!proc_variable(pid, "VOLT_JOB_ID", id, sizeof(id)) ||
        !proc_variable(pid, "VOLT_ATTEMPT", attempt, sizeof(attempt)))
        return false;
    (void)snprintf(name, sizeof(name), "%s.%s", id, attempt);
    return job_key_parse(name, ret) == 0;
}

/* Returns whether the shim of that attempt has died since this killer was forked. */
static bool has_just_died(const struct shims *shims, const struct job_key *key)
{
    struct proc shim;
    for (unsigned i = shims->n; i-- > 0;)
        if (job_key_equal(key, &shims->key[i]))
            return proc_read(shims->pid[i], &shim) < 0 || shim.dead;
    return false;
}

static bool was_shim_killed(const struct keeper_self *self, const struct job_key *key)
{
    for (unsigned i = 0; i < KEEPER_KILLED_MAX && i < self->killed_n; i++)
        if (job_key_equal(key, &self->killed[i]))
            return true;
    return has_just_died(&self->shims, key) || has_just_died(&self->main_shims, key);
}

struct claim {
    const struct keeper_self *self;
    const struct job_key *key;
};

/* Returns whether an orphan names another attempt whose shim was killed. Any other
 * environment, or none, makes it a process of this attempt as well: a job cannot hide a
 * process by its environment. */
static bool is_of_another(pid_t pid, const void *arg)
{
    const struct claim *c = arg;
    struct job_key key;
    return names_attempt(pid, &key) && !job_key_equal(&key, c->key) &&
           was_shim_killed(c->self, &key);
}

static void signal_main(const struct record_started *s, int sig,
                        struct keeper_reply *reply)
{
    reply->status = proc_signal((pid_t)s->pid, s->pid_start, sig);
    reply->reached = reply->status == 0;
    reply->survivors = sig == SIGKILL && reply->status == -EPERM;
    reply->survivor[0] = reply->survivors ? s->pid : 0;
}

/* Continues the shim. A process of the job has mostly stopped it, and is dead by now.
 * Returns whether the shim stays stopped: its tracer lives. */
static bool continue_shim(const struct tree_root *root)
{
    struct proc shim;
    for (long nsec = 1000000; nsec < 1000000000; nsec *= 2) {
        if (root->shim == 0 || proc_read(root->shim, &shim) < 0 || !shim.stopped)
            return false;
        (void)proc_signal(root->shim, root->shim_start, SIGCONT);
        (void)nanosleep(&(struct timespec){.tv_nsec = nsec}, NULL);
    }
    return true;
}

static void add_survivor(struct keeper_reply *reply, pid_t pid)
{
    if (reply->survivors < KEEPER_NAMED_MAX)
        reply->survivor[reply->survivors] = (uint32_t)pid;
    reply->survivors++;
    reply->status = 0;
}

/* Freezes the cgroup. Without one, stops the tree. */
static void pause_job(const struct claim *claim, int cgroup_fd, int record_fd,
                      const struct tree_root *root, struct keeper_reply *reply)
{
    struct record record;
    if (!cgroup_freeze(cgroup_fd, KILL_LIMIT_USEC)) {
        signal_tree(root, SIGSTOP, reply);
        return;
    }
    reply->reached = cgroup_members(cgroup_fd, NULL, 0);
    /* If the attempt has just ended, its last SIGCONT may have come before the freeze. */
    if (record_probe_fd(record_fd, claim->key, claim->self->boot_id, &record) < 0 ||
        record.verdict != RECORD_RUNNING)
        cgroup_thaw(cgroup_fd);
}

/* Kills the cgroup, then the tree, as a process may have moved away. Without a shim only
 * the cgroup shows other processes of the job. */
static void kill_job(int cgroup_fd, const struct tree_root *root,
                     struct keeper_reply *reply)
{
    const uint64_t deadline = mono_usec() + KILL_LIMIT_USEC;
    struct tree_result result;
    reply->reached = cgroup_members(cgroup_fd, NULL, 0);
    cgroup_kill(cgroup_fd);
    (void)cgroup_await_empty(cgroup_fd, KILL_LIMIT_USEC);
    const uint64_t now = mono_usec();
    tree_kill(root, now < deadline ? deadline - now : 0, &result);
    reply->reached += result.reached;
    reply->survivors = result.survivors;
    memcpy(reply->survivor, result.named, sizeof(reply->survivor));
    if (reply->survivors == 0)
        reply->survivors = cgroup_members(cgroup_fd, reply->survivor, KEEPER_NAMED_MAX);
    reply->status = reply->reached + reply->survivors > 0 ? 0 : -ESRCH;
}

/* Thaws and removes the cgroup of an attempt that has ended. No other request for the
 * attempt follows. */
static void leave_job(const struct job_key *key)
{
    int fd = cgroup_open(key);
    if (fd < 0)
        return;
    cgroup_thaw(fd);
    (void)close(fd);
    (void)cgroup_remove(key);
}

/* Returns whether this keeper inherits the processes that a killed shim has left. */
static bool is_ours(const struct keeper_self *self, const struct record_started *s)
{
    return s->keeper_pid == (uint32_t)self->pid && s->shim_start >= self->start;
}

/* Returns the tree of a job that has started. with_orphans: includes orphans if its shim
 * was killed. */
static struct tree_root root_of(const struct claim *claim, const struct record *record,
                                bool with_orphans)
{
    const struct keeper_self *self = claim->self;
    const struct record_started *s = &record->started;
    struct tree_root root = {.main = (pid_t)s->pid, .main_start = s->pid_start};
    struct proc shim;
    if (record->verdict == RECORD_RUNNING && proc_read((pid_t)s->shim_pid, &shim) == 0 &&
        shim.start == s->shim_start) {
        root.shim = shim.pid;
        root.shim_start = shim.start;
    } else if (with_orphans && is_ours(self, s)) {
        root.keeper = self->pid;
        root.session = self->session;
        root.is_others = is_of_another;
        root.arg = claim;
    }
    return root;
}

void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                int record_fd, struct keeper_reply *reply)
{
    const struct job_key key = keeper_key_unpack(&m->key);
    const struct claim claim = {self, &key};
    const bool is_tree = (m->scope & KEEPER_SCOPE_MAIN) == 0;
    const bool is_kill = is_tree && m->signal == SIGKILL;
    struct keeper_reply woken = {0};
    struct record record = {.verdict = record_fd < 0 ? RECORD_ABSENT : RECORD_DAMAGED};
    reply->status = record_fd < 0 ? -ESRCH : find_job(self, record_fd, &key, &record);
    if (reply->status == -ESRCH && m->signal == SIGCONT)
        leave_job(&key);
    if (reply->status < 0)
        return;
    const int cgroup = cgroup_open(&key);
    const struct tree_root root = root_of(&claim, &record, is_kill && cgroup < 0);
    if ((m->scope & KEEPER_SCOPE_FREEZE) != 0)
        pause_job(&claim, cgroup, record_fd, &root, reply);
    else if (is_kill)
        kill_job(cgroup, &root, reply);
    else if (is_tree)
        signal_tree(&root, (int)m->signal, reply);
    else
        signal_main(&record.started, (int)m->signal, reply);
    if (m->signal == SIGCONT || (m->scope & KEEPER_SCOPE_WAKE) != 0)
        cgroup_thaw(cgroup);
    if (is_tree && root.shim == 0 && cgroup < 0 && !is_ours(self, &record.started))
        reply->survivors = KEEPER_SURVIVORS_UNKNOWN;
    if ((m->scope & KEEPER_SCOPE_WAKE) != 0 && is_tree)
        signal_tree(&root, SIGCONT, &woken);
    else if ((m->scope & KEEPER_SCOPE_WAKE) != 0)
        signal_main(&record.started, SIGCONT, &woken);
    if (continue_shim(&root) && m->signal == SIGKILL)
        add_survivor(reply, root.shim);
    if (cgroup >= 0)
        (void)close(cgroup);
    if (root.shim == 0)
        (void)cgroup_remove(&key);
}

/* What the keeper does on request: start a job, signal one, remove a record. */
#include "daemon/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/crew.h"
#include "daemon/keeper/tree.h"

#define KILL_LIMIT_USEC 1000000
#define SLOT_WAIT_USEC  1000000

/* A block that could still change or shrink would be read while somebody rewrites it. */
static int check_launch(int fd, uint64_t size)
{
    const int need = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return errno == EINVAL ? -EBADMSG : -errno; /* no memfd at all */
    if (fstat(fd, &st) < 0)
        return -errno;
    return (seals & need) == need && (uint64_t)st.st_size == size ? 0 : -EBADMSG;
}

pid_t start_job(struct keeper_self *self, struct keeper_start *m, const int *fds,
                bool may_reuse, bool *ret_new)
{
    const int *next = fds;
    struct job_key key = keeper_key_unpack(&m->key);
    struct shim_args args = {
        .serial = m->head.serial,
        .after = m->after,
        .launch_size = m->launch_size,
        .umask = (mode_t)m->umask,
        .kill_mode = m->kill_mode,
        .reset_oom_score = self->reset_oom_score,
    };
    /* Not in the initialiser: there the order of these is anybody's. */
    if (m->flags & KEEPER_START_INLINE)
        args.launch = m + 1;
    args.fd[SHIM_LAUNCH] = args.launch == NULL ? *next++ : -1;
    for (unsigned i = 0; i < 3; i++)
        args.fd[SHIM_STDIN + i] = m->fds & KEEPER_FD_STDIN << i ? *next++ : -1;
    if (args.launch == NULL) {
        int r = check_launch(args.fd[SHIM_LAUNCH], args.launch_size);
        if (r < 0)
            return r;
    }
    if (m->after != 0 && (!may_reuse || !crew_can_follow(m->after)))
        return -ESRCH;
    int record = record_create(self->record_dir_fd, &self->pool, &key, self->boot_id,
                               m->kill_mode, &args.record_seed);
    if (record < 0)
        return record;
    args.fd[SHIM_RECORD] = record;
    pid_t pid =
        m->after != 0 ? crew_follow(&args) : crew_start(&args, may_reuse, ret_new);
    CRASH_POINT("keeper-forked");
    (void)close(record);
    if (pid < 0)
        (void)record_remove(self->record_dir_fd, &self->pool, &key);
    return pid;
}

/* The record of a job that can be signalled. 0; -ESRCH: it has ended or never started. */
static int find_job(const struct keeper_self *self, const struct job_key *key,
                    struct record *ret)
{
    uint64_t deadline = mono_usec() + SLOT_WAIT_USEC;
    for (;;) {
        int r = record_probe(self->record_dir_fd, key, self->boot_id, ret);
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
    struct tree_result result;
    if (sig != SIGKILL) {
        reply->reached = tree_signal(root, sig);
    } else {
        tree_kill(root, KILL_LIMIT_USEC, &result);
        reply->reached = result.reached;
        reply->survivors = result.survivors;
        memcpy(reply->survivor, result.named, sizeof(reply->survivor));
    }
    reply->status = reply->reached + reply->survivors > 0 ? 0 : -ESRCH;
}

void signal_job(const struct keeper_self *self, const struct keeper_signal *m,
                struct keeper_reply *reply)
{
    struct job_key key = keeper_key_unpack(&m->key);
    struct record record;
    struct proc shim;
    reply->status = find_job(self, &key, &record);
    if (reply->status < 0)
        return;
    const struct record_started *s = &record.started;
    if (m->scope == KEEPER_SCOPE_MAIN) {
        reply->status = proc_signal((pid_t)s->pid, s->pid_start, (int)m->signal);
        reply->reached = reply->status == 0;
        return;
    }
    struct tree_root root = {.main = (pid_t)s->pid, .main_start = s->pid_start};
    if (record.verdict == RECORD_RUNNING && proc_read((pid_t)s->shim_pid, &shim) == 0 &&
        shim.start == s->shim_start) {
        root.shim = shim.pid;
        root.shim_start = shim.start;
    }
    signal_tree(&root, (int)m->signal, reply);
}

int remove_record(struct keeper_self *self, const struct keeper_remove *m)
{
    int status = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        struct job_key key = keeper_key_unpack(&m->key[i]);
        CRASH_POINT("keeper-remove");
        int r = record_remove(self->record_dir_fd, &self->pool, &key);
        CRASH_POINT("keeper-removed");
        if (status == 0)
            status = r;
    }
    return status;
}

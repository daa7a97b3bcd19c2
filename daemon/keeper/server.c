/* The keeper's loop: one thread, no allocation. The thread polls the listening socket, a
 * signalfd and one connection.
 *
 * A new connection replaces the one before, with its requests that are not read yet.
 * voltd has one connection; if there are two, the voltd of the older one has ended. A
 * connection is served from its HELLO on. Requests are taken one at a time, so no older
 * request is under way when HELLO is answered. Signals are an exception: processes of
 * their own ("killers") send them, and can start nothing. The keeper does not wait for
 * killers. When there are too many, it refuses a signal. The keeper does not read from a
 * peer that does not read its replies.
 *
 * The keeper remembers the pid of each shim, with its attempt, to know when the last has
 * ended. The keeper remembers the channels of shims that may get another job
 * (shim_pool.h). Everything else is in the records, so a keeper that follows a killed one
 * needs nothing of it. Shims of kill mode `main` stay as long as the processes that their
 * jobs have left. They have a list of their own: a voltd that has seen the end of every
 * job does not wait for them.
 *
 * Jobs run as the same user. They cannot trace keeper, killers and shims, which are never
 * dumpable once the keeper serves. Before that they are dumpable only if the keeper's
 * program can be read, which is not so as it is installed. But jobs can stop these
 * processes. Parents continue their children at once: the keeper its shims and killers,
 * and voltd the keeper that it has started. voltd continues any other keeper several
 * times a second while it does not answer (keeper_link_task.c). Two cases remain. A job
 * that stops the keeper in a loop makes it slow. If a new voltd finds a stopped keeper
 * and does not know its pid, the keeper has to be continued by hand. */
#include "daemon/keeper/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/crash.h"
#include "daemon/keeper/account.h"
#include "daemon/keeper/cgroup.h"
#include "daemon/keeper/script_file.h"
#include "daemon/keeper/shim_pool.h"
#include "daemon/keeper/tree.h"

/* Rest when shims are idle, or when the listening socket cannot be served: it stays
 * readable. */
#define PAUSE_MS    100
#define KILLERS_MAX 32
#define STOPS_MAX   64 /* children continued before other work */

struct killers {
    unsigned n;
    pid_t pid[KILLERS_MAX];
};

static struct {
    struct keeper_config config;
    struct keeper_self self;
    int signal_fd;
    bool leaving;   /* BYE was accepted, or voltd is of another version */
    bool no_accept; /* for PAUSE_MS: no descriptor was available */
    struct killers killers;
    struct {
        int fd; /* -1: none */
        bool served;
        bool leaving;       /* said BYE, settled: the reply waits for all children */
        uint64_t bye;       /* serial of that BYE */
        size_t unsent_size; /* bytes of a reply that did not fit into the socket */
        union {
            struct keeper_welcome welcome;
            struct keeper_reply reply;
        } unsent;
    } conn;
} keeper;

/* --- children ----------------------------------------------------------------------- */

/* Returns the index of a pid among n; n: not found. Looks at the newest first, as most
 * jobs are short. */
static unsigned find(const pid_t *pids, unsigned n, pid_t pid)
{
    for (unsigned i = n; i-- > 0;)
        if (pids[i] == pid)
            return i;
    return n;
}

static bool is_in(const struct shims *shims, pid_t pid)
{
    return find(shims->pid, shims->n, pid) < shims->n;
}

static bool is_killer(pid_t pid)
{
    return find(keeper.killers.pid, keeper.killers.n, pid) < keeper.killers.n;
}

/* Notes the attempt of a shim, new or reused. */
static void note_shim(struct shims *shims, pid_t pid, const struct job_key *key)
{
    unsigned i = find(shims->pid, shims->n, pid);
    shims->n += i == shims->n;
    shims->pid[i] = pid;
    shims->key[i] = *key;
}

/* Drops a shim that has ended; status != 0: it was killed. Returns false if it is not in
 * the list. */
static bool take_shim(struct shims *shims, pid_t pid, int status)
{
    struct keeper_self *self = &keeper.self;
    unsigned i = find(shims->pid, shims->n, pid);
    if (i == shims->n)
        return false;
    if (status != 0) {
        self->killed[self->killed_n++ % KEEPER_KILLED_MAX] = shims->key[i];
        (void)cgroup_remove(&shims->key[i]);
    }
    shims->n--; /* the newest fills the gap */
    shims->pid[i] = shims->pid[shims->n];
    shims->key[i] = shims->key[shims->n];
    return true;
}

static bool take_killer(pid_t pid)
{
    unsigned i = find(keeper.killers.pid, keeper.killers.n, pid);
    if (i == keeper.killers.n)
        return false;
    keeper.killers.pid[i] = keeper.killers.pid[--keeper.killers.n];
    return true;
}

static unsigned live_shims(void)
{
    return keeper.self.shims.n + keeper.self.main_shims.n;
}

/* Returns whether no shim or killer lives. settled: every job has ended, so shims of kill
 * mode `main` do not count. */
static bool is_idle(bool settled)
{
    return keeper.self.shims.n == 0 && keeper.killers.n == 0 &&
           (settled || keeper.self.main_shims.n == 0);
}

/* --- the connection ----------------------------------------------------------------- */

static void conn_close(void)
{
    if (keeper.conn.fd >= 0)
        (void)close(keeper.conn.fd);
    shim_pool_dismiss();
    memset(&keeper.conn, 0, sizeof(keeper.conn));
    keeper.conn.fd = -1;
}

static void conn_flush(void)
{
    ssize_t n = send(keeper.conn.fd, &keeper.conn.unsent, keeper.conn.unsent_size,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        keeper.conn.unsent_size = 0;
    else if (errno != EAGAIN && errno != EINTR)
        conn_close();
}

static void conn_reply(const void *message, size_t size)
{
    memcpy(&keeper.conn.unsent, message, size);
    keeper.conn.unsent_size = size;
    conn_flush();
}

static bool peer_allowed(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           peer.uid == keeper.config.peer_uid;
}

static void accept_one(void)
{
    int fd = accept4(keeper.config.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        keeper.no_accept = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
    } else if (!peer_allowed(fd)) {
        (void)close(fd);
    } else {
        conn_close();
        keeper.conn.fd = fd;
    }
}

/* --- requests ----------------------------------------------------------------------- */

/* Answers HELLO. A keeper leaves if voltd is of another version: voltd's next connection
 * starts a matching one. */
static void serve_hello(const struct keeper_hello *m)
{
    struct keeper_welcome w = {
        .head = {KEEPER_MAGIC, KEEPER_WELCOME, m->head.serial},
        .status = m->version == KEEPER_VERSION ? 0 : -EPROTO,
        .version = KEEPER_VERSION,
        .pid = (uint32_t)getpid(),
        .live = live_shims(),
    };
    CRASH_POINT("keeper-hello");
    keeper.conn.served = w.status == 0;
    keeper.leaving = w.status < 0;
    conn_reply(&w, sizeof(w));
}

/* Descriptors that came with a request. */
struct fds {
    int fd[KEEPER_FDS_MAX], n;
};

static void serve_start(struct keeper_start *m, const int *fds,
                        struct keeper_reply *reply)
{
    CRASH_POINT("keeper-start");
    const struct job_key key = keeper_key_unpack(&m->key);
    const bool is_main = m->kill_mode == KEEPER_KILL_MAIN;
    pid_t pid = -EAGAIN;
    if (live_shims() < KEEPER_SHIMS_MAX)
        pid = start_job(m, fds, keeper.killers.n == 0);
    if (pid > 0) {
        note_shim(is_main ? &keeper.self.main_shims : &keeper.self.shims, pid, &key);
        reply->pid = (uint32_t)pid;
    } else {
        reply->status = pid;
    }
    CRASH_POINT("keeper-started");
}

/* Runs a killer. Exits with 0 if the reply was sent, or if the connection is closed. */
_Noreturn static void killer_run(const struct keeper_signal *m, int record_fd,
                                 struct keeper_reply *reply)
{
    struct pollfd writable = {keeper.conn.fd, POLLOUT, 0};
    ssize_t r;
    (void)close(keeper.config.listen_fd);
    signal_job(&keeper.self, m, record_fd, reply);
    do {
        r = poll(&writable, 1, 1000);
        if (r == 1)
            r = send(writable.fd, reply, sizeof(*reply), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (r < 0 && errno == EINTR);
    _exit(r > 0 || (r < 0 && errno == EPIPE) ? 0 : 1);
}

/* Forks a killer, which replies by itself. Returns false if the caller must reply. If
 * fork fails and no killer lives, jobs may have used up all processes of the account.
 * Then the keeper sends the signal itself: no killer will give a process back. No job
 * could start meanwhile anyway. */
static bool serve_signal(const struct keeper_signal *m, int record_fd,
                         struct keeper_reply *reply)
{
    pid_t pid = -1;
    errno = EAGAIN;
    if (keeper.killers.n < KILLERS_MAX)
        pid = fork();
    if (pid == 0)
        killer_run(m, record_fd, reply);
    if (pid < 0 && keeper.killers.n == 0)
        signal_job(&keeper.self, m, record_fd, reply);
    else if (pid < 0)
        reply->status = -errno;
    else
        keeper.killers.pid[keeper.killers.n++] = pid;
    return pid > 0;
}

/* Answers BYE. The last jobs, and their shims, may end a moment after voltd has seen
 * their records. So the reply to a settled voltd waits for them: returns false. */
static bool serve_bye(const struct keeper_bye *m, struct keeper_reply *reply)
{
    shim_pool_dismiss();
    keeper.leaving = is_idle(m->settled);
    keeper.conn.leaving = !keeper.leaving && m->settled;
    keeper.conn.bye = m->head.serial;
    reply->status = keeper.leaving ? 0 : -EBUSY;
    return !keeper.conn.leaving;
}

static void fds_close(struct fds *f)
{
    while (f->n > 0)
        (void)close(f->fd[--f->n]);
}

static void serve_request(union keeper_message *m, size_t len, struct fds *fds)
{
    struct keeper_reply reply = {.head = {KEEPER_MAGIC, KEEPER_REPLY, m->head.serial}};
    bool is_due = true;
    if (!keeper_request_is_valid(m, len, fds->n) ||
        (!keeper.conn.served && m->head.op != KEEPER_HELLO)) {
        conn_close();
        return;
    }
    switch (m->head.op) {
    case KEEPER_HELLO:
        serve_hello(&m->hello);
        return;
    case KEEPER_START:
        serve_start(&m->start, fds->fd, &reply);
        /* before the reply: only the shim then has the record, and only the job its
         * output */
        fds_close(fds);
        break;
    case KEEPER_SIGNAL:
        is_due = !serve_signal(&m->signal, fds->n > 0 ? fds->fd[0] : -1, &reply);
        break;
    default:
        is_due = serve_bye(&m->bye, &reply);
        break;
    }
    if (is_due)
        conn_reply(&reply, sizeof(reply));
}

/* Receives and serves one message, then closes its descriptors. */
static void conn_receive(void)
{
    static union keeper_message m;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KEEPER_FDS_MAX * sizeof(int))];
    struct iovec iov = {&m, sizeof(m)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    struct fds fds = {.n = 0};
    ssize_t n = recvmsg(keeper.conn.fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    /* A Unix socket carries nothing but descriptors unasked, in one piece. */
    struct cmsghdr *h = n >= 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (h != NULL) {
        fds.n = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(fds.fd, CMSG_DATA(h), (size_t)fds.n * sizeof(int));
    }
    if (n <= 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        conn_close();
    else
        serve_request(&m, (size_t)n, &fds);
    fds_close(&fds);
}

/* --- the loop ----------------------------------------------------------------------- */

/* Continues a stopped child. Not an inherited one: it may belong to a job that is being
 * killed. */
static void continue_child(pid_t pid)
{
    bool ours = is_in(&keeper.self.shims, pid) || is_in(&keeper.self.main_shims, pid) ||
                is_killer(pid);
    if (ours && !keeper.config.leaves_stopped)
        (void)kill(pid, SIGCONT);
}

static void reap(void)
{
    pid_t pid;
    int status, stops = 0;
    bool died = false;
    do {
        pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid > 0 && WIFSTOPPED(status)) {
            continue_child(pid);
            if (++stops < STOPS_MAX)
                continue;
            (void)raise(SIGCHLD); /* the others, after other work */
            break;
        }
        /* A killer that dies before its reply would leave its call waiting for ever.
         * Closing the connection makes voltd repeat all open requests. */
        shim_pool_forget(pid);
        died |= pid > 0 && status != 0;
        if (pid > 0 && !take_shim(&keeper.self.shims, pid, status) &&
            !take_shim(&keeper.self.main_shims, pid, status) && take_killer(pid) &&
            status != 0)
            conn_close();
    } while (pid > 0 || (pid < 0 && errno == EINTR));
    if (died)
        script_file_sweep();
}

/* Returns false on SIGTERM. The jobs go on with their shims. */
static bool take_signals(void)
{
    struct signalfd_siginfo info;
    bool go_on = true;
    while (read(keeper.signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGTERM)
            go_on = false;
    reap();
    return go_on;
}

static void serve_ready(const struct pollfd *p)
{
    if (p->fd != keeper.conn.fd || p->revents == 0)
        return;
    if (p->revents & POLLOUT)
        conn_flush();
    else if (p->revents & POLLIN)
        conn_receive();
    else
        conn_close();
}

/* Sends the reply to BYE when it is due. */
static void part(void)
{
    const struct keeper_reply reply = {
        .head = {KEEPER_MAGIC, KEEPER_REPLY, keeper.conn.bye}};
    if (!keeper.conn.leaving || keeper.conn.unsent_size > 0 || !is_idle(true))
        return;
    keeper.leaving = true;
    conn_reply(&reply, sizeof(reply));
}

int keeper_serve(void)
{
    while (!keeper.leaving) {
        struct pollfd p[] = {
            {keeper.conn.fd, keeper.conn.unsent_size > 0 ? POLLOUT : POLLIN, 0},
            {keeper.signal_fd, POLLIN, 0},
            {keeper.no_accept ? -1 : keeper.config.listen_fd, POLLIN, 0},
        };
        bool unused =
            keeper.config.leave_usec > 0 && keeper.conn.fd < 0 && is_idle(false);
        int patience = unused ? (int)(keeper.config.leave_usec / 1000) : -1;
        bool rests = keeper.no_accept || shim_pool_size() > 0;
        if (rests)
            patience = keeper.no_accept ? PAUSE_MS : keeper.config.rest_msec;
        int r = poll(p, 3, patience);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0 && unused && !rests)
            return 0;
        if (r == 0)
            shim_pool_dismiss();
        keeper.no_accept = false;
        if (r <= 0)
            continue;
        if (p[1].revents != 0 && !take_signals())
            return 0;
        serve_ready(&p[0]);
        part();
        if (p[2].revents != 0 && !keeper.leaving)
            accept_one();
    }
    return 0;
}

/* Sets all signals to default and blocks them, as exec passes ignored signals and the
 * mask on to jobs. Uses the system call, as the library refuses signals 32 and 33, which
 * it reserves for its threads. */
static int settle_signals(void)
{
    static const uint64_t to_default[8]; /* longer than the kernel's struct sigaction */
    sigset_t all;
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        (void)syscall(SYS_rt_sigaction, sig, to_default, NULL, sizeof(uint64_t));
    (void)sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return -errno;
    (void)sigemptyset(&all);
    (void)sigaddset(&all, SIGCHLD);
    (void)sigaddset(&all, SIGTERM);
    keeper.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return keeper.signal_fd < 0 ? -errno : 0;
}

int keeper_init(const struct keeper_config *config)
{
    struct proc self;
    int r = proc_read(getpid(), &self);
    if (r < 0)
        return r;
    keeper.config = *config;
    keeper.self.pid = self.pid;
    keeper.self.session = self.session;
    keeper.self.start = self.start;
    keeper.conn.fd = -1;
    r = settle_signals();
    if (r == 0 && config->score_fd > 0)
        r = shim_pool_spare(config->score_fd);
    /* Listens again, after the voltd that has bound the socket. SO_PEERCRED of a
     * connection names the process that listened last, and voltd sends SIGCONT to it. */
    if (r == 0 && listen(config->listen_fd, KEEPER_BACKLOG) < 0)
        r = -errno;
    if (r == 0)
        r = record_boot_id(keeper.self.boot_id);
    if (r < 0)
        return r;
    account_init(environ, geteuid());
    script_file_init(config->scripts_dir);
    cgroup_init("/sys/fs/cgroup");
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    return 0;
}

/* The keeper's loop: one thread, no allocation, poll over the listening socket, a
 * signalfd and one connection.
 *
 * A connection takes the place of the one before, with whatever that had asked for and
 * was not yet read: voltd has one, and where there are two the voltd of the older one has
 * gone. It is served from its HELLO on. Requests are taken one at a time, so that nothing
 * older is still going on when HELLO is answered; only signals are sent from processes of
 * their own ("killers"), which can start nothing. Nothing waits for these: when there are
 * too many, a signal is refused. A peer that does not read its replies is not read from.
 *
 * Shims are remembered by pid to tell when the last has ended, with the attempt that each
 * works on, and by the channels of those that may get another job (shim_pool.h): the
 * records know the rest, and a keeper that takes over from a killed one needs nothing of
 * it. Those of jobs that may leave something behind stay as long as that does, and are
 * remembered apart: a voltd that has seen the end of every job does not wait for them.
 *
 * Jobs run as the same user. They cannot trace keeper, killers and shims, which are never
 * dumpable once the keeper has begun to serve (nor before, where its program may not be
 * read, as it is installed), but can stop them: parents continue their children at once,
 * the keeper its shims and killers, voltd the keeper that it has started. Another keeper
 * it continues several times a second while that does not answer (keeper_link_task.c).
 * What remains: a job that stops the keeper in a loop makes it slow, and one that stands
 * still when a voltd finds it, whose pid that voltd does not know, has to be continued
 * by hand. */
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

/* For shims that nobody needs now, and for a listening socket that cannot be served: it
 * stays readable. */
#define PAUSE_MS    100
#define KILLERS_MAX 32
#define STOPS_MAX   64 /* children continued in a row */

struct killers {
    unsigned n;
    pid_t pid[KILLERS_MAX];
};

static struct {
    struct keeper_config config;
    struct keeper_self self;
    int signal_fd;
    bool leaving;   /* BYE was answered with yes, or voltd is of another version */
    bool no_accept; /* for PAUSE_MS: there was no descriptor to be had */
    struct killers killers;
    struct {
        int fd; /* -1: none */
        bool served;
        bool leaving; /* said BYE, settled: the reply awaits the end of all children */
        uint64_t bye; /* the serial of that */
        size_t unsent_size; /* of a reply that did not fit into the socket */
        union {
            struct keeper_welcome welcome;
            struct keeper_reply reply;
        } unsent;
    } conn;
} keeper;

/* --- children ----------------------------------------------------------------------- */

/* The place of a pid among n; n: it is not there. Most jobs are short, and the newest are
 * looked at first. */
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

/* Notes the attempt of a shim, which may be one that has had others. */
static void note_shim(struct shims *shims, pid_t pid, const struct job_key *key)
{
    unsigned i = find(shims->pid, shims->n, pid);
    shims->n += i == shims->n;
    shims->pid[i] = pid;
    shims->key[i] = *key;
}

/* A shim has ended, not by itself if status != 0. False: it is none of these. */
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
    shims->n--; /* the newest takes its place */
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

/* settled: every job has ended. */
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

/* To another version a keeper is of no use: the next connection starts one that is. */
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

/* The life of a killer. Its exit status says whether somebody still waits for the
 * reply. */
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

/* Forks a killer, which replies by itself. False: the reply is the caller's. Where there
 * is no process to be had, and no killer that gives its own back, jobs may have taken all
 * that their account may have: then the keeper ends them itself, as nothing else would.
 * No job could start meanwhile. */
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

/* What ended the last jobs, and their shims, may need a moment more than the news of it:
 * the reply to a settled voltd waits for them, which is false. */
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
        fds_close(fds); /* before the reply: the shim alone has the record, and the job
                         * its output */
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

/* Receives one message; its descriptors are closed when it has been served. */
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
    /* Descriptors are all that a Unix socket carries unasked, in one piece. */
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

/* A stopped child is continued, but for what the keeper has inherited: that may be a job
 * which is being killed. */
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
            (void)raise(SIGCHLD); /* the rest, after what else there is to do */
            break;
        }
        /* A killer was killed before it could reply, and its call would wait for ever:
         * voltd asks again for all that is open on a new connection. */
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

/* False: SIGTERM. The jobs go on with their shims. */
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

/* The reply to BYE, when it is due. */
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

/* All to default and blocked: exec hands ignored signals and the mask on to the jobs. The
 * system call itself: the library refuses 32 and 33, which it has for its threads. */
static int settle_signals(void)
{
    static const uint64_t to_default[8]; /* the kernel's struct sigaction is shorter */
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
    /* Once more, after the voltd that has bound the socket: SO_PEERCRED of a connection
     * names the process that has listened last, and voltd sends SIGCONT to that one. */
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

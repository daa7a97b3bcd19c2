/* The keeper's loop: one thread, no allocation, poll over the listening socket, a
 * signalfd and at most CONNS connections, of which one is served.
 *
 * A connection is served from its HELLO on; HELLO closes every other one that was.
 * Requests are taken one at a time, so that nothing older is still going on when HELLO is
 * answered; only signals are sent from processes of their own ("killers"), which can
 * start nothing. A peer that does not read its replies is not read from.
 *
 * Shims are remembered by pid for the EXITED hint alone: the records know the rest, and a
 * keeper that takes over from a killed one needs nothing of it. */
#include "daemon/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/crash.h"

#define CONNS           8
#define ACCEPT_PAUSE_MS 100 /* a listening socket that cannot be served stays readable */
#define KILLERS_MAX     32
#define SHIMS_MAX       32768
#define SHIM_TABLE      65536 /* power of two, half empty */

struct conn {
    int fd; /* -1: free */
    bool served;
    bool leaving;       /* said BYE, settled: its reply awaits the end of all children */
    uint64_t bye;       /* the serial of that */
    size_t unsent_size; /* of a reply that did not fit into the socket */
    union {
        struct keeper_head head;
        struct keeper_welcome welcome;
        struct keeper_reply reply;
    } unsent;
};

struct shim {
    pid_t pid; /* 0: free */
    struct job_key key;
};

static struct {
    struct keeper_config config;
    struct keeper_self self;
    struct conn conns[CONNS];
    int signal_fd;
    unsigned killers;
    pid_t killer[KILLERS_MAX];
    unsigned live;
    bool leaving;       /* BYE was answered with yes */
    bool no_accept;     /* for ACCEPT_PAUSE_MS: there was no descriptor to be had */
    struct shim *shims; /* SHIM_TABLE entries, in memory that no child gets to see */
} keeper;

/* --- shims -------------------------------------------------------------------------- */

/* Successive pids are neighbours: few pages are touched. */
static size_t shim_slot(pid_t pid)
{
    return (uint32_t)pid % SHIM_TABLE;
}

/* Not inherited: copying its page tables would cost every fork dearly. */
static int shims_init(void)
{
    const size_t size = SHIM_TABLE * sizeof(struct shim);
    void *map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || madvise(map, size, MADV_DONTFORK) < 0)
        return -errno;
    keeper.shims = map;
    return 0;
}

static void shim_add(pid_t pid, const struct job_key *key)
{
    size_t i = shim_slot(pid);
    while (keeper.shims[i].pid != 0)
        i = (i + 1) % SHIM_TABLE;
    keeper.shims[i] = (struct shim){pid, *key};
    keeper.live++;
}

/* Takes a shim out, closing the gap in its chain. False: not a shim. */
static bool shim_take(pid_t pid, struct job_key *ret)
{
    size_t i = shim_slot(pid);
    while (keeper.shims[i].pid != pid) {
        if (keeper.shims[i].pid == 0)
            return false;
        i = (i + 1) % SHIM_TABLE;
    }
    *ret = keeper.shims[i].key;
    for (size_t j = (i + 1) % SHIM_TABLE; keeper.shims[j].pid != 0;
         j = (j + 1) % SHIM_TABLE) {
        size_t home = shim_slot(keeper.shims[j].pid);
        if ((j - home) % SHIM_TABLE >= (j - i) % SHIM_TABLE) {
            keeper.shims[i] = keeper.shims[j];
            i = j;
        }
    }
    keeper.shims[i].pid = 0;
    keeper.live--;
    return true;
}

/* --- connections -------------------------------------------------------------------- */

static void conn_close(struct conn *c)
{
    (void)close(c->fd);
    *c = (struct conn){.fd = -1};
}

static void conn_flush(struct conn *c)
{
    ssize_t n = send(c->fd, &c->unsent, c->unsent_size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        c->unsent_size = 0;
    else if (errno != EAGAIN && errno != EINTR)
        conn_close(c);
}

static void conn_reply(struct conn *c, const void *message, size_t size)
{
    memcpy(&c->unsent, message, size);
    c->unsent_size = size;
    conn_flush(c);
}

static void hint_exited(const struct job_key *key)
{
    struct keeper_exited m = {
        .head = {KEEPER_MAGIC, KEEPER_EXITED, 0},
        .key = keeper_key_pack(key),
    };
    for (size_t i = 0; i < CONNS; i++)
        if (keeper.conns[i].fd >= 0 && keeper.conns[i].served)
            (void)send(keeper.conns[i].fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
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
    struct conn *free_one = NULL;
    int fd = accept4(keeper.config.listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        keeper.no_accept = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
        return;
    }
    /* With no place left, one that has not said HELLO goes: there is
     * always such a one. */
    for (size_t i = 0; i < CONNS; i++) {
        struct conn *c = &keeper.conns[i];
        if (c->fd < 0 || (free_one == NULL && !c->served))
            free_one = c;
    }
    if (free_one == NULL || !peer_allowed(fd)) {
        (void)close(fd);
        return;
    }
    if (free_one->fd >= 0)
        conn_close(free_one);
    free_one->fd = fd;
}

/* --- requests ----------------------------------------------------------------------- */

static void serve_hello(struct conn *c, const struct keeper_hello *m)
{
    struct keeper_welcome w = {
        .head = {KEEPER_MAGIC, KEEPER_WELCOME, m->head.serial},
        .status = m->version == KEEPER_VERSION ? 0 : -EPROTO,
        .version = KEEPER_VERSION,
        .pid = (uint32_t)getpid(),
        .live = keeper.live,
    };
    CRASH_POINT("keeper-hello");
    if (w.status == 0) {
        for (size_t i = 0; i < CONNS; i++)
            if (&keeper.conns[i] != c && keeper.conns[i].fd >= 0 &&
                keeper.conns[i].served)
                conn_close(&keeper.conns[i]);
        memcpy(w.generation, keeper.self.generation, RECORD_ID_SIZE);
        memcpy(w.boot_id, keeper.self.boot_id, RECORD_ID_SIZE);
        c->served = true;
    }
    conn_reply(c, &w, sizeof(w));
    if (w.status < 0 && c->fd >= 0)
        conn_close(c);
}

static void serve_start(const struct keeper_start *m, const int *fds,
                        struct keeper_reply *reply)
{
    struct job_key key = keeper_key_unpack(&m->key);
    CRASH_POINT("keeper-start");
    pid_t pid = keeper.live < SHIMS_MAX ? start_job(&keeper.self, m, fds) : -EAGAIN;
    if (pid > 0) {
        shim_add(pid, &key);
        reply->pid = (uint32_t)pid;
    } else {
        reply->status = pid;
    }
    CRASH_POINT("keeper-started");
}

/* The life of a killer. Its exit status says whether the reply has gone out. */
_Noreturn static void killer_run(const struct conn *c, const struct keeper_signal *m,
                                 struct keeper_reply *reply)
{
    struct pollfd writable = {c->fd, POLLOUT, 0};
    int r;
    (void)close(keeper.config.listen_fd);
    signal_job(&keeper.self, m, reply);
    do {
        r = poll(&writable, 1, 1000);
        if (r == 1)
            r = send(c->fd, reply, sizeof(*reply), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1
                                                                                    : 1;
    } while (r < 0 && errno == EINTR);
    _exit(r == 1 ? 0 : 1);
}

/* Forks a killer, which replies by itself. False: no process to be had. */
static bool serve_signal(struct conn *c, const struct keeper_signal *m,
                         struct keeper_reply *reply)
{
    pid_t pid = fork();
    if (pid < 0) {
        reply->status = -errno;
        return false;
    }
    if (pid == 0)
        killer_run(c, m, reply);
    keeper.killer[keeper.killers++] = pid;
    return true;
}

/* No job and no connection but c (NULL: none at all). */
static bool is_idle(const struct conn *c)
{
    for (size_t i = 0; i < CONNS; i++)
        if (keeper.conns[i].fd >= 0 && &keeper.conns[i] != c)
            return false;
    return keeper.live == 0 && keeper.killers == 0;
}

/* What ended the last jobs, and their shims, may need a moment more than the news of it:
 * the reply to a settled voltd waits for them. */
static bool serve_bye(struct conn *c, const struct keeper_bye *m,
                      struct keeper_reply *reply)
{
    keeper.leaving = is_idle(c);
    if (!keeper.leaving && m->settled) {
        c->leaving = true;
        c->bye = m->head.serial;
        return true;
    }
    reply->status = keeper.leaving ? 0 : -EBUSY;
    return false;
}

static void serve_request(struct conn *c, const union keeper_message *m, size_t len,
                          const int *fds, int nfds)
{
    struct keeper_reply reply = {.head = {KEEPER_MAGIC, KEEPER_REPLY, m->head.serial}};
    int r = keeper_request_check(m, len, nfds);
    if (r == -EBADMSG || (!c->served && m->head.op != KEEPER_HELLO)) {
        conn_close(c);
        return;
    }
    if (r < 0) {
        reply.status = r;
    } else {
        switch (m->head.op) {
        case KEEPER_HELLO:
            serve_hello(c, &m->hello);
            return;
        case KEEPER_START:
            serve_start(&m->start, fds, &reply);
            break;
        case KEEPER_SIGNAL:
            if (serve_signal(c, &m->signal, &reply))
                return;
            break;
        case KEEPER_BYE:
            if (serve_bye(c, &m->bye, &reply))
                return;
            break;
        default:
            reply.status = remove_record(&keeper.self, &m->remove);
            break;
        }
    }
    conn_reply(c, &reply, sizeof(reply));
}

/* Receives one message; its descriptors are closed when it has been served. */
static void conn_receive(struct conn *c)
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
    int fds[KEEPER_FDS_MAX], nfds = 0;
    ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); n >= 0 && h != NULL;
         h = CMSG_NXTHDR(&msg, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds + nfds, CMSG_DATA(h), count * sizeof(int));
        nfds += (int)count;
    }
    if (n <= 0 || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        conn_close(c);
    else
        serve_request(c, &m, (size_t)n, fds, nfds);
    for (int i = 0; i < nfds; i++)
        (void)close(fds[i]);
}

/* --- the loop ----------------------------------------------------------------------- */

/* A killer was killed before it could reply, and its call would wait for ever: voltd asks
 * again for all that is open on a new connection. */
static void disown_calls(void)
{
    for (size_t i = 0; i < CONNS; i++)
        if (keeper.conns[i].fd >= 0 && keeper.conns[i].served)
            conn_close(&keeper.conns[i]);
}

static void reap(void)
{
    pid_t pid;
    int status;
    struct job_key key;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (shim_take(pid, &key)) {
            hint_exited(&key);
            continue;
        }
        for (unsigned i = 0; i < keeper.killers; i++)
            if (keeper.killer[i] == pid) {
                keeper.killer[i] = keeper.killer[--keeper.killers];
                if (status != 0)
                    disown_calls();
                break;
            }
    }
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

static short wanted(const struct conn *c)
{
    if (c->unsent_size > 0)
        return POLLOUT;
    return keeper.killers < KILLERS_MAX ? POLLIN : 0;
}

static void serve_ready(const struct pollfd *p)
{
    for (size_t i = 0; i < CONNS; i++) {
        struct conn *c = &keeper.conns[i];
        if (c->fd < 0 || c->fd != p[i].fd || p[i].revents == 0)
            continue;
        if (p[i].revents & POLLOUT)
            conn_flush(c);
        else if (p[i].revents & POLLIN)
            conn_receive(c);
        else
            conn_close(c);
    }
}

/* The replies to BYE that are due. */
static void part(void)
{
    for (size_t i = 0; i < CONNS; i++) {
        struct conn *c = &keeper.conns[i];
        if (c->fd < 0 || !c->leaving || c->unsent_size > 0 || !is_idle(c))
            continue;
        const struct keeper_reply reply = {.head = {KEEPER_MAGIC, KEEPER_REPLY, c->bye}};
        keeper.leaving = true;
        conn_reply(c, &reply, sizeof(reply));
    }
}

static int serve(void)
{
    for (;;) {
        struct pollfd p[CONNS + 2];
        for (size_t i = 0; i < CONNS; i++)
            p[i] = (struct pollfd){keeper.conns[i].fd, wanted(&keeper.conns[i]), 0};
        p[CONNS] = (struct pollfd){keeper.signal_fd, POLLIN, 0};
        p[CONNS + 1] =
            (struct pollfd){keeper.no_accept ? -1 : keeper.config.listen_fd, POLLIN, 0};
        bool leaving = keeper.config.leave_usec > 0 && is_idle(NULL) && !keeper.no_accept;
        int patience = leaving ? (int)(keeper.config.leave_usec / 1000) : -1;
        int r = poll(p, CONNS + 2, keeper.no_accept ? ACCEPT_PAUSE_MS : patience);
        keeper.no_accept = false;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0 && leaving)
            return 0;
        if (r <= 0)
            continue;
        if (p[CONNS].revents != 0 && !take_signals())
            return 0;
        serve_ready(p);
        part();
        if (keeper.leaving)
            return 0;
        if (p[CONNS + 1].revents != 0)
            accept_one();
    }
}

int keeper_serve(void)
{
    int r = serve();
    record_sweep(keeper.self.record_dir_fd);
    return r;
}

/* All to default and blocked: exec hands ignored signals and the mask on to the jobs. */
static int settle_signals(void)
{
    sigset_t all;
    for (int sig = 1; sig <= SIGRTMAX; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return -errno;
    (void)sigemptyset(&all);
    (void)sigaddset(&all, SIGCHLD);
    (void)sigaddset(&all, SIGTERM);
    keeper.signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    return keeper.signal_fd < 0 ? -errno : 0;
}

static bool is_oom_protected(void)
{
    char text[16];
    int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    return n > 0 && text[0] == '-';
}

int keeper_init(const struct keeper_config *config)
{
    keeper.config = *config;
    keeper.self.record_dir_fd = config->record_dir_fd;
    keeper.self.reset_oom_score = is_oom_protected();
    for (size_t i = 0; i < CONNS; i++)
        keeper.conns[i].fd = -1;
    int r = settle_signals();
    if (r == 0)
        r = shims_init();
    if (r == 0)
        r = record_boot_id(keeper.self.boot_id);
    if (r == 0)
        r = record_generation_ensure(config->record_dir_fd, keeper.self.generation);
    if (r < 0)
        return r;
    record_sweep(config->record_dir_fd);
    return prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -errno : 0;
}

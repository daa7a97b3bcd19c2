/* See shim_pool.h. */
#include "daemon/keeper/shim_pool.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "daemon/keeper/tree.h"

#define SHIM_POOL_MAX 32 /* further shims at a time get one job only */

struct member {
    pid_t pid;
    int channel; /* the keeper's end */
    bool works;  /* it has not reported the end of its order */
};

static struct {
    unsigned n, last; /* last: index of the member that got a job last */
    struct member shim[SHIM_POOL_MAX + 1]; /* 1 more, for a moment */
} pool;

/* The keeper's own oom_score_adj, below 0. */
static struct {
    int fd; /* 0: the keeper is not spared */
    size_t size;
    char text[8];
} score;

int shim_pool_spare(int score_fd)
{
    ssize_t n = pread(score_fd, score.text, sizeof(score.text), 0);
    if (n < 0)
        return -errno;
    score.fd = score_fd;
    score.size = (size_t)n;
    return 0;
}

/* Forks a child with score 0. The child inherits the score, and could not open its own
 * file later: it is not dumpable, so the file is root's. Returns like fork(), or
 * -errno. */
static pid_t fork_unspared(void)
{
    if (score.fd > 0 && pwrite(score.fd, "0", 1, 0) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0)
        pid = -errno;
    /* Fails without CAP_SYS_RESOURCE if the score cannot be lowered again: it stays 0. */
    if (pid != 0 && score.fd > 0)
        (void)pwrite(score.fd, score.text, score.size, 0);
    return pid;
}

/* Sends the order, in one message. Returns 0 or -errno. */
static int give_order(int channel, const struct shim_args *args)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(args->fd))];
    struct iovec iov[] = {{(void *)(uintptr_t)args, sizeof(*args)},
                          {args->launch, args->launch_size}};
    struct msghdr msg = {.msg_iov = iov,
                         .msg_iovlen = args->launch != NULL ? 2 : 1,
                         .msg_control = control};
    int fds[SHIM_FDS];
    size_t n = 0;
    for (unsigned i = 0; i < SHIM_FDS; i++)
        if (args->fd[i] >= 0)
            fds[n++] = args->fd[i];
    msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
    memset(control, 0, sizeof(control));
    struct cmsghdr *h = (struct cmsghdr *)(void *)control;
    *h = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(h), fds, n * sizeof(int));
    while (sendmsg(channel, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static void drop(struct member *s)
{
    (void)close(s->channel);
    *s = pool.shim[--pool.n];
}

static bool is_at_work(struct member *s)
{
    char byte;
    ssize_t n = 0;
    if (!s->works)
        return false;
    do
        n = recv(s->channel, &byte, 1, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    s->works = n <= 0; /* also if it has died, until it is reaped */
    return s->works;
}

static pid_t hand(struct member *s, const struct shim_args *args)
{
    int r = give_order(s->channel, args);
    if (r < 0)
        return r;
    s->works = true;
    return s->pid;
}

static pid_t start_new(const struct shim_args *args)
{
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
        return -errno;
    struct member s = {.channel = channel[0]};
    const pid_t self = getpid();
    uint64_t tick = proc_tick();
    pid_t pid = hand(&s, args);
    if (pid == 0 && (pid = fork_unspared()) == 0)
        shim_run(channel[1], self, tick);
    (void)close(channel[1]);
    s.pid = pid;
    pool.shim[pool.n++] = s;
    if (pid < 0 || pool.n > SHIM_POOL_MAX || args->kill_mode == KEEPER_KILL_MAIN)
        drop(&pool.shim[pool.n - 1]);
    return pid;
}

pid_t shim_pool_start(const struct shim_args *args, bool may_reuse)
{
    bool may = may_reuse && args->kill_mode != KEEPER_KILL_MAIN;
    for (unsigned k = may ? pool.n : 0; k > 0; k--) {
        /* Asks the member that got its job first, as it most likely has ended. */
        unsigned i = ++pool.last % pool.n;
        if (is_at_work(&pool.shim[i]))
            continue;
        pool.last = i;
        pid_t pid = hand(&pool.shim[i], args);
        if (pid > 0)
            return pid;
    }
    return start_new(args);
}

unsigned shim_pool_size(void)
{
    return pool.n;
}

void shim_pool_dismiss(void)
{
    while (pool.n > 0)
        drop(&pool.shim[pool.n - 1]);
}

void shim_pool_forget(pid_t pid)
{
    for (unsigned i = 0; i < pool.n; i++)
        if (pool.shim[i].pid == pid) {
            drop(&pool.shim[i]);
            return;
        }
}

/* Shims in reserve: what and why is in crew.h. */
#include "daemon/keeper/crew.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "daemon/keeper/tree.h"

#define CREW_MAX 32 /* more at a time get a shim that is for one job */

static struct {
    unsigned n, last; /* last: who was handed a job last */
    struct {
        pid_t pid;
        int channel;
        bool busy;
    } shim[CREW_MAX];
} crew;

/* The order, in one message. 0 or -errno. */
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
    *CMSG_FIRSTHDR(&msg) = (struct cmsghdr){.cmsg_len = CMSG_LEN(n * sizeof(int)),
                                            .cmsg_level = SOL_SOCKET,
                                            .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, n * sizeof(int));
    while (sendmsg(channel, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static void drop(unsigned i)
{
    (void)close(crew.shim[i].channel);
    crew.shim[i] = crew.shim[--crew.n];
}

static bool is_busy(unsigned i)
{
    char byte;
    if (crew.shim[i].busy)
        crew.shim[i].busy = recv(crew.shim[i].channel, &byte, 1, MSG_DONTWAIT) != 1;
    return crew.shim[i].busy;
}

static pid_t start_new(const struct shim_args *args, bool *ret_new)
{
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
        return -errno;
    uint64_t tick = proc_tick();
    pid_t pid = give_order(channel[0], args);
    if (pid == 0 && (pid = fork()) < 0)
        pid = -errno;
    if (pid == 0)
        shim_run(channel[1], tick);
    (void)close(channel[1]);
    *ret_new = pid > 0;
    if (pid > 0 && crew.n < CREW_MAX) {
        crew.shim[crew.n].pid = pid;
        crew.shim[crew.n].channel = channel[0];
        crew.shim[crew.n++].busy = true;
    } else {
        (void)close(channel[0]);
    }
    return pid;
}

pid_t crew_start(const struct shim_args *args, bool may_reuse, bool *ret_new)
{
    for (unsigned k = may_reuse ? crew.n : 0; k > 0; k--) {
        /* The longest at work first: it is the most likely to have ended. */
        unsigned i = ++crew.last % crew.n;
        if (is_busy(i))
            continue;
        crew.last = i;
        crew.shim[i].busy = true; /* also one that has died, until it is reaped */
        if (give_order(crew.shim[i].channel, args) == 0)
            return crew.shim[i].pid;
    }
    return start_new(args, ret_new);
}

unsigned crew_size(void)
{
    return crew.n;
}

void crew_dismiss(void)
{
    while (crew.n > 0)
        drop(crew.n - 1);
}

void crew_forget(pid_t pid)
{
    for (unsigned i = 0; i < crew.n; i++)
        if (crew.shim[i].pid == pid) {
            drop(i);
            return;
        }
}

/* Children and signals: pidfds and signalfds, read as other descriptors are. */
#include "driver/registration.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <volt/process.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* Registers fd, and takes it. */
static int add(struct volt_io *io, struct volt_runtime *rt, int fd)
{
    int r = fd < 0 ? -errno : volt_io_init(io, rt, fd);

    if (r < 0 && fd >= 0)
        close(fd);
    return r;
}

static void end(struct volt_io *io, int fd)
{
    if (!io->registration)
        return;
    volt_io_fini(io);
    close(fd);
}

/* --- child -------------------------------------------------------------------------- */

int volt_child_init(struct volt_child *c, struct volt_runtime *rt, pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0); /* a pidfd is close-on-exec */
    int r;

    if (fd >= 0) /* volt_io_init() demands it; reap() does not block anyway */
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    r = add(&c->io, rt, fd);
    if (r == 0)
        c->fd = fd;
    return r;
}

/* Returns 0 if the child runs, 1 with *ret_status set. */
static int reap(struct volt_child *c, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid((idtype_t)P_PIDFD, (id_t)c->fd, &info, WEXITED | WNOHANG) < 0)
        *ret_status = -errno;
    else if (info.si_pid == 0)
        return 0;
    else if (info.si_code == CLD_EXITED)
        *ret_status = (info.si_status & 0xff) << 8;
    else
        *ret_status = info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
    return 1;
}

static enum volt_poll end_poll(struct volt_cx *cx, struct volt_child *c, int *ret_status)
{
    while (!reap(c, ret_status)) {
        int error = readiness_error(c->io.registration);

        if (error < 0) {
            *ret_status = error;
            return VOLT_READY;
        }
        if (volt_io_readable_poll(cx, &c->io) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_io_clear_readable(&c->io); /* an end since then is seen, or is a new event */
    }
    return VOLT_READY;
}

enum volt_poll volt_child_poll(struct volt_cx *cx, struct volt_child *c, int *ret_status)
{
    if (end_poll(cx, c, ret_status) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_io_forget_reader(&c->io); /* its end was seen, perhaps without the event */
    return VOLT_READY;
}

int volt_child_kill(const struct volt_child *c, int signal)
{
    return syscall(SYS_pidfd_send_signal, c->fd, signal, NULL, 0) < 0 ? -errno : 0;
}

void volt_child_fini(struct volt_child *c)
{
    end(&c->io, c->fd);
}

/* --- signals ------------------------------------------------------------------------ */

int volt_signals_init(struct volt_signals *s, struct volt_runtime *rt,
                      const sigset_t *set)
{
    int fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
    int r = add(&s->io, rt, fd);

    if (r == 0)
        s->fd = fd;
    return r;
}

enum volt_poll volt_signals_poll(struct volt_cx *cx, struct volt_signals *s,
                                 int *ret_signal)
{
    ssize_t n;

    if (volt_io_read_poll(cx, &s->io, &s->info, sizeof(s->info), &n) == VOLT_PENDING)
        return VOLT_PENDING;
    *ret_signal = n < 0 ? (int)n : (int)s->info.ssi_signo;
    return VOLT_READY;
}

void volt_signals_fini(struct volt_signals *s)
{
    end(&s->io, s->fd);
}

/* Descriptors: leaf futures over the driver's registrations, and their system calls. An
 * operation is tried first and waits only after EAGAIN; on TCP also after it did less
 * than asked (registration.h says why). */
#include "driver/driver.h"
#include "driver/registration.h"
#include "driver/wheel.h"
#include "task/leaves.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/io.h>
#include <volt/runtime.h>

/* Pause of accept without a free descriptor: the waiting connection keeps the listener
 * ready, so trying again at once would spin. */
#define ACCEPT_BACKOFF_USEC 100000

/* Tries at once whether epoll takes the file; the event loop would find out later. */
static int try_epoll(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC), r = 0;

    if (epoll < 0)
        return -errno;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        r = -errno;
    close(epoll);
    return r;
}

static bool option_is(int fd, int option, int value)
{
    int is = -1;
    socklen_t len = sizeof(is);

    return getsockopt(fd, SOL_SOCKET, option, &is, &len) == 0 && is == value;
}

/* Protocol 6 is TCP in streams only; raw sockets and other families use 6 for
 * messages. */
static bool is_tcp(int fd)
{
    return option_is(fd, SO_PROTOCOL, IPPROTO_TCP) && option_is(fd, SO_TYPE, SOCK_STREAM);
}

/* Returns 0 if fd can be polled and its operations do not block a worker, or -errno. */
static int probe(int fd, bool *ret_socket)
{
    struct stat st;
    int flags, r = 0;

    if (fstat(fd, &st) < 0)
        return -errno;
    *ret_socket = S_ISSOCK(st.st_mode);
    if (!*ret_socket && !S_ISFIFO(st.st_mode))
        r = try_epoll(fd);
    if (r < 0)
        return r;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    return flags & O_NONBLOCK ? 0 : -EINVAL;
}

int volt_io_init(struct volt_io *io, struct volt_runtime *rt, int fd)
{
    struct registration *r;
    bool is_socket = false;
    int err = probe(fd, &is_socket);

    if (err < 0)
        return err;
    err = driver_register(runtime_driver(rt), fd, &r);
    if (err < 0)
        return err;
    r->is_socket = is_socket;
    r->is_tcp = is_socket && is_tcp(fd);
    *io = (struct volt_io){.fd = fd, .registration = r};
    return 0;
}

static struct registration *registration_of(const struct volt_io *io)
{
    assert(io->registration && "the volt_io is not initialised, or has ended");
    return io->registration;
}

/* Returns an address that stands for a direction in the records of watched tasks. */
static const void *leaf_of(const struct volt_io *io, enum direction dir)
{
    return dir == DIR_READ ? (const void *)&io->fd : (const void *)&io->registration;
}

/* Records that a watched task waits, or waits no longer. */
static void record(struct volt_cx *cx, struct volt_io *io, enum direction dir, bool waits)
{
    struct registration *r = io->registration;

    if (waits)
        leaves_add(cx->task, dir == DIR_READ ? "volt_io (read)" : "volt_io (write)",
                   leaf_of(io, dir));
    else
        leaves_remove(cx->task, leaf_of(io, dir));
    r->dir[dir].watched = waits ? cx->task : NULL;
}

static void forget(struct volt_io *io, enum direction dir)
{
    struct registration *r = registration_of(io);

    if (dir == DIR_READ)
        volt_sleep_fini(&r->backoff);
    leaf_left(r->dir[dir].watched, leaf_of(io, dir));
    r->dir[dir].watched = NULL;
}

void volt_io_fini(struct volt_io *io)
{
    if (!io->registration)
        return;
    forget(io, DIR_READ);
    forget(io, DIR_WRITE);
    driver_unregister(io->registration);
    io->registration = NULL;
}

/* Polls readiness. tries: READY may be a guess, as the caller tries the operation. */
static enum volt_poll ready_poll(struct volt_cx *cx, struct volt_io *io,
                                 enum direction dir, bool tries)
{
    struct registration *r = registration_of(io);

    /* Events go to the rings of that runtime. */
    assert(r->driver == runtime_driver(cx->task->rt) &&
           "the volt_io is of another runtime");
    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    bool ready = readiness_poll(r, dir, cx->task, tries);
    if (__builtin_expect(cx->watched, 0))
        record(cx, io, dir, !ready);
    if (ready)
        return VOLT_READY;
    cx_restore(cx);
    return VOLT_PENDING;
}

enum volt_poll volt_io_readable_poll(struct volt_cx *cx, struct volt_io *io)
{
    return ready_poll(cx, io, DIR_READ, false);
}

enum volt_poll volt_io_writable_poll(struct volt_cx *cx, struct volt_io *io)
{
    return ready_poll(cx, io, DIR_WRITE, false);
}

void volt_io_clear_readable(struct volt_io *io)
{
    readiness_clear(registration_of(io), DIR_READ);
}

void volt_io_clear_writable(struct volt_io *io)
{
    readiness_clear(registration_of(io), DIR_WRITE);
}

void volt_io_forget_reader(struct volt_io *io)
{
    forget(io, DIR_READ);
    readiness_forget(io->registration, DIR_READ);
}

void volt_io_forget_writer(struct volt_io *io)
{
    forget(io, DIR_WRITE);
    readiness_forget(io->registration, DIR_WRITE);
}

/* One operation on a descriptor with its arguments. */
struct op {
    ssize_t (*run)(const struct registration *r, const struct op *op);
    void *data;
    size_t len; /* 0: a result does not tell how much there was */
    int flags;
};

/* recv() and send() cost the kernel 15 and 45 ns less than read() and write(). */
static ssize_t run_read(const struct registration *r, const struct op *op)
{
    return r->is_socket ? recv(r->fd, op->data, op->len, 0)
                        : read(r->fd, op->data, op->len);
}

static ssize_t run_write(const struct registration *r, const struct op *op)
{
    return r->is_socket ? send(r->fd, op->data, op->len, 0)
                        : write(r->fd, op->data, op->len);
}

static ssize_t run_recvmsg(const struct registration *r, const struct op *op)
{
    return recvmsg(r->fd, op->data, op->flags);
}

static ssize_t run_sendmsg(const struct registration *r, const struct op *op)
{
    return sendmsg(r->fd, op->data, op->flags);
}

static ssize_t run_accept(const struct registration *r, const struct op *op)
{
    (void)op;
    return accept4(r->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static enum volt_poll op_poll(struct volt_cx *cx, struct volt_io *io, enum direction dir,
                              const struct op *op, ssize_t *ret)
{
    struct registration *r = io->registration;

    for (;;) {
        ssize_t n;

        if (ready_poll(cx, io, dir, true) == VOLT_PENDING)
            return VOLT_PENDING;
        n = readiness_error(r);
        if (n == 0) {
            n = op->run(r, op);
            if (n < 0)
                n = -errno;
        }
        if (n == -EAGAIN)
            readiness_clear(r, dir);
        else if (n != -EINTR) {
            if (r->is_tcp && n > 0 && (size_t)n < op->len)
                readiness_clear_short(r, dir);
            *ret = n;
            return VOLT_READY;
        }
        cx_restore(cx); /* this unit of the budget did no work */
    }
}

enum volt_poll volt_io_read_poll(struct volt_cx *cx, struct volt_io *io, void *buf,
                                 size_t len, ssize_t *ret)
{
    struct op op = {.run = run_read, .data = buf, .len = len};

    return op_poll(cx, io, DIR_READ, &op, ret);
}

enum volt_poll volt_io_write_poll(struct volt_cx *cx, struct volt_io *io, const void *buf,
                                  size_t len, ssize_t *ret)
{
    struct op op = {.run = run_write, .data = (void *)(uintptr_t)buf, .len = len};

    return op_poll(cx, io, DIR_WRITE, &op, ret);
}

enum volt_poll volt_io_recvmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                    struct msghdr *msg, int flags, ssize_t *ret)
{
    struct op op = {.run = run_recvmsg, .data = msg, .flags = flags};

    return op_poll(cx, io, DIR_READ, &op, ret);
}

enum volt_poll volt_io_sendmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                    const struct msghdr *msg, int flags, ssize_t *ret)
{
    struct op op = {.run = run_sendmsg, .data = (void *)(uintptr_t)msg, .flags = flags};

    return op_poll(cx, io, DIR_WRITE, &op, ret);
}

static bool out_of_descriptors(ssize_t err)
{
    return err == -EMFILE || err == -ENFILE || err == -ENOBUFS || err == -ENOMEM;
}

enum volt_poll volt_io_accept_poll(struct volt_cx *cx, struct volt_io *io, int *ret)
{
    struct registration *r = registration_of(io);
    struct op op = {.run = run_accept};
    ssize_t n;

    if (r->backoff.deadline_usec) {
        if (volt_sleep_poll(cx, &r->backoff) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_sleep_fini(&r->backoff);
        r->backoff = (struct volt_sleep){0};
    }
    do {
        if (op_poll(cx, io, DIR_READ, &op, &n) == VOLT_PENDING)
            return VOLT_PENDING;
    } while (n == -ECONNABORTED); /* that client has gone: take the next one */
    if (out_of_descriptors(n))
        volt_sleep_init(&r->backoff, ACCEPT_BACKOFF_USEC);
    *ret = (int)n;
    return VOLT_READY;
}

/* Looks once how far a connect is. Returns 0, -EINPROGRESS, or its error. A failed
 * attempt leaves its error, which is read first: another connect() would start anew. */
static int try_connect(int fd, const struct sockaddr *addr, socklen_t addr_len)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    if (error)
        return -error;
    if (connect(fd, addr, addr_len) == 0 || errno == EISCONN)
        return 0;
    return errno == EALREADY || errno == EINTR ? -EINPROGRESS : -errno;
}

enum volt_poll volt_io_connect_poll(struct volt_cx *cx, struct volt_io *io,
                                    const struct sockaddr *addr, socklen_t len, int *ret)
{
    for (bool seen = false;; seen = true) {
        int r = readiness_error(registration_of(io));

        if (r == 0)
            r = try_connect(io->fd, addr, len);
        if (r != -EINPROGRESS) {
            volt_io_forget_writer(io); /* it may have been seen without an event */
            *ret = r;
            return VOLT_READY;
        }
        if (seen) { /* an event, but of another kind; the first readiness stays for the
                     * first write */
            readiness_clear(io->registration, DIR_WRITE);
            cx_restore(cx);
        }
        if (ready_poll(cx, io, DIR_WRITE, false) == VOLT_PENDING)
            return VOLT_PENDING;
    }
}

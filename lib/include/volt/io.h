/* Descriptors: readiness, and the usual system calls as leaf futures.
 *
 * A struct volt_io registers one non-blocking descriptor with the runtime's event loop,
 * edge-triggered for both directions. Only tasks of that runtime poll it, at most one
 * task per direction. The descriptor stays the caller's: volt_io_fini() before closing
 * it, in the task's drop as for every leaf.
 *
 * An operation is tried first, and waits only when it would block: a busy connection
 * costs no system call beside its own. A TCP read that leaves room in its buffer proves
 * that nothing more is there, so the next one waits at once. (Not with kernel TLS, whose
 * reads end at records: use volt_io_recvmsg_poll there.) Each operation that succeeds
 * takes a unit of the poll's budget.
 *
 * lib/io/io.c, lib/driver/registration.h. */
#ifndef VOLT_IO_H
#define VOLT_IO_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <volt/task.h>

VOLT_BEGIN_DECLS

struct volt_io {
    int fd;             /* to be read */
    void *registration; /* private */
};

/* 0; -EEXIST: fd has a volt_io of this runtime, which a reading and a writing task share;
 * -EINVAL: fd is not O_NONBLOCK, and would keep its worker; -ENOMEM; -EMFILE, -ENFILE;
 * -EPERM (not pollable); -EBADF; -ESHUTDOWN. Any thread. The event loop learns of it with
 * its next turn; if that fails (limit of watches), the helpers below answer that
 * errno. */
VOLT_API int volt_io_init(struct volt_io *io, struct volt_runtime *rt, int fd);
/* Ends the registration; tasks that wait on it are forgotten, not woken. Once, and before
 * volt_runtime_free(); a zeroed volt_io is allowed. Any thread. Does not close the
 * descriptor; it may be closed, and its number reused, right afterwards. While one is
 * used on, each of its events wakes the event loop of the runtime for a moment. */
VOLT_API void volt_io_fini(struct volt_io *io);

/* READY: the operation is likely not to block. After EAGAIN call the clear function of
 * that direction and poll again. The helpers below do that. */
VOLT_API enum volt_poll volt_io_readable_poll(struct volt_cx *cx, struct volt_io *io);
VOLT_API enum volt_poll volt_io_writable_poll(struct volt_cx *cx, struct volt_io *io);
VOLT_API void volt_io_clear_readable(struct volt_io *io);
VOLT_API void volt_io_clear_writable(struct volt_io *io);
/* Forget the waiting task of one direction: in the drop of a task that shares the volt_io
 * with others. (volt_io_fini does it for a volt_io of the task's own.) */
VOLT_API void volt_io_forget_reader(struct volt_io *io);
VOLT_API void volt_io_forget_writer(struct volt_io *io);

/* As read(2), write(2), recvmsg(2), sendmsg(2), accept4(2), but pending instead of
 * EAGAIN; EINTR is retried. READY: *ret is the result, or a negative errno. */
VOLT_API enum volt_poll volt_io_read_poll(struct volt_cx *cx, struct volt_io *io,
                                          void *buf, size_t len, ssize_t *ret);
VOLT_API enum volt_poll volt_io_write_poll(struct volt_cx *cx, struct volt_io *io,
                                           const void *buf, size_t len, ssize_t *ret);
VOLT_API enum volt_poll volt_io_recvmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                             struct msghdr *msg, int flags, ssize_t *ret);
VOLT_API enum volt_poll volt_io_sendmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                             const struct msghdr *msg, int flags,
                                             ssize_t *ret);
/* *ret: a CLOEXEC, non-blocking descriptor owned by the caller; or a negative errno.
 * After -EMFILE and its like the connection stays queued and the next poll waits 100 ms,
 * so a loop that only logs the error does not spin. */
VOLT_API enum volt_poll volt_io_accept_poll(struct volt_cx *cx, struct volt_io *io,
                                            int *ret);

/* As connect(2) of a socket that is not connected: pending while the connection is being
 * made. READY: *ret is 0, or a negative errno; a Unix socket whose listener has no room
 * answers -EAGAIN. addr stays the same until then. */
VOLT_API enum volt_poll volt_io_connect_poll(struct volt_cx *cx, struct volt_io *io,
                                             const struct sockaddr *addr, socklen_t len,
                                             int *ret);

VOLT_END_DECLS

#endif

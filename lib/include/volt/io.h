/* Readiness of descriptors. A struct volt_io registers one non-blocking descriptor with the
 * runtime's event loop, edge-triggered for both directions. At most one task waits per
 * direction. The descriptor stays the caller's: call volt_io_fini() before closing it. */
#ifndef VOLT_IO_H
#define VOLT_IO_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <volt/task.h>

struct volt_io {
    int fd;
    void *registration; /* private */
};

/* 0; -ENOMEM; -EPERM (not pollable); -ESHUTDOWN. fd must be O_NONBLOCK. Any thread. */
VOLT_API int volt_io_init(struct volt_io *io, struct volt_runtime *rt, int fd);
/* Any thread; no task may be waiting on it any more. Does not close the descriptor. */
VOLT_API void volt_io_fini(struct volt_io *io);

/* READY: the operation is likely not to block. After EAGAIN call the clear function of
 * that direction and poll again. The helpers below do that. */
VOLT_API enum volt_poll volt_io_readable_poll(struct volt_cx *cx, struct volt_io *io);
VOLT_API enum volt_poll volt_io_writable_poll(struct volt_cx *cx, struct volt_io *io);
VOLT_API void volt_io_clear_readable(struct volt_io *io);
VOLT_API void volt_io_clear_writable(struct volt_io *io);

/* As read(2), write(2), recvmsg(2), sendmsg(2), accept4(2), but pending instead of EAGAIN;
 * EINTR is retried. READY: *ret is the result, or a negative errno. */
VOLT_API enum volt_poll volt_io_read_poll(struct volt_cx *cx, struct volt_io *io, void *buf,
                                          size_t len, ssize_t *ret);
VOLT_API enum volt_poll volt_io_write_poll(struct volt_cx *cx, struct volt_io *io,
                                           const void *buf, size_t len, ssize_t *ret);
VOLT_API enum volt_poll volt_io_recvmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                             struct msghdr *msg, int flags, ssize_t *ret);
VOLT_API enum volt_poll volt_io_sendmsg_poll(struct volt_cx *cx, struct volt_io *io,
                                             const struct msghdr *msg, int flags,
                                             ssize_t *ret);
/* *ret: a CLOEXEC, non-blocking descriptor owned by the caller. */
VOLT_API enum volt_poll volt_io_accept_poll(struct volt_cx *cx, struct volt_io *io, int *ret);

#endif

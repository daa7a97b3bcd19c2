/* Standard input and output that may be non-blocking: a program that shares the pipe or
 * terminal has made them so (mostly Node), for itself and for us. They stay as they are,
 * and what would fail with EAGAIN is waited for. */
#ifndef VOLT_CLIENT_STREAMS_H
#define VOLT_CLIENT_STREAMS_H

#include <stddef.h>
#include <sys/types.h>

/* As read(2) and write(2), but for EAGAIN and EINTR. */
ssize_t streams_read(int fd, void *to, size_t n);
ssize_t streams_write(int fd, const void *from, size_t n);
/* stdin, stdout and stderr become streams that wait. Once, before any of them is used. */
void streams_init(void);

#endif

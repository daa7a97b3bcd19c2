/* Reads and writes standard streams that may be non-blocking: another program that shares
 * the pipe or terminal (mostly Node) has set that for both. They stay as they are. Where
 * a call would fail with EAGAIN, these functions wait. */
#ifndef VOLT_CLIENT_STREAMS_H
#define VOLT_CLIENT_STREAMS_H

#include <stddef.h>
#include <sys/types.h>

/* As read(2) and write(2), but never fail with EAGAIN or EINTR. */
ssize_t streams_read(int fd, void *to, size_t n);
ssize_t streams_write(int fd, const void *from, size_t n);
/* Makes stdin, stdout and stderr streams that wait. Call once, before their first use. */
void streams_init(void);

#endif

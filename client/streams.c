/* See streams.h. */
#include "client/streams.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Waits if needed. Returns whether the failed call may be repeated. */
static bool again(int fd, short events)
{
    if (errno == EINTR)
        return true;
    return errno == EAGAIN &&
           (poll(&(struct pollfd){.fd = fd, .events = events}, 1, -1) >= 0 ||
            errno == EINTR);
}

ssize_t streams_read(int fd, void *to, size_t n)
{
    ssize_t r;
    do
        r = read(fd, to, n);
    while (r < 0 && again(fd, POLLIN));
    return r;
}

ssize_t streams_write(int fd, const void *from, size_t n)
{
    ssize_t r;
    do
        r = write(fd, from, n);
    while (r < 0 && again(fd, POLLOUT));
    return r;
}

static ssize_t read_cookie(void *cookie, char *to, size_t n)
{
    return streams_read((int)(intptr_t)cookie, to, n);
}

/* Writes all, as stdio takes a part for an error. */
static ssize_t write_cookie(void *cookie, const char *from, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t wrote = streams_write((int)(intptr_t)cookie, from + done, n - done);
        if (wrote < 0)
            return 0;
        done += (size_t)wrote;
    }
    return (ssize_t)n;
}

static void replace(FILE **stream, int fd, const char *mode, int buffering)
{
    const cookie_io_functions_t calls = {.read = read_cookie, .write = write_cookie};
    FILE *patient = fopencookie((void *)(intptr_t)fd, mode, calls);
    if (!patient) /* no memory: it stays as it was */
        return;
    (void)setvbuf(patient, NULL, buffering, BUFSIZ);
    *stream = patient;
}

void streams_init(void)
{
    replace(&stdin, STDIN_FILENO, "r", _IOFBF);
    replace(&stdout, STDOUT_FILENO, "w", isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    replace(&stderr, STDERR_FILENO, "w", _IONBF);
}

/* See output.h. */
#include "daemon/call/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void output_fini(struct output *o)
{
    for (unsigned i = 0; i < o->nfds; i++)
        (void)close(o->fds[i].fd);
    wire_buf_fini(&o->bytes);
    *o = (struct output){0};
}

static uint64_t end_of(const struct output *o)
{
    return o->sent + wire_buf_len(&o->bytes);
}

int output_push_fd(struct output *o, int fd)
{
    output_drop_loose_fd(o);
    if (o->nfds == OUTPUT_FDS_MAX) {
        (void)close(fd);
        return -ENOBUFS;
    }
    o->fds[o->nfds].at = end_of(o);
    o->fds[o->nfds].fd = fd;
    o->nfds++;
    return 0;
}

void output_drop_loose_fd(struct output *o)
{
    if (o->nfds > 0 && o->fds[o->nfds - 1].at == end_of(o)) {
        o->nfds--;
        (void)close(o->fds[o->nfds].fd);
    }
}

bool output_is_full(const struct output *o, uint64_t high_water)
{
    return wire_buf_len(&o->bytes) >= high_water || o->nfds == OUTPUT_FDS_MAX;
}

bool output_next(const struct output *o, const char **ret_at, size_t *ret_len,
                 int *ret_fd)
{
    size_t len = wire_buf_len(&o->bytes);
    unsigned next = 0;

    *ret_fd = -1;
    if (len == 0)
        return false;
    if (o->nfds > 0 && o->fds[0].at == o->sent) {
        *ret_fd = o->fds[0].fd;
        next = 1;
    }
    if (o->nfds > next && o->fds[next].at - o->sent < len)
        len = (size_t)(o->fds[next].at - o->sent);
    *ret_at = wire_buf_at(&o->bytes);
    *ret_len = len;
    return true;
}

void output_sent(struct output *o, size_t n)
{
    if (o->nfds > 0 && o->fds[0].at == o->sent) {
        (void)close(o->fds[0].fd);
        o->nfds--;
        memmove(o->fds, o->fds + 1, o->nfds * sizeof(o->fds[0]));
    }
    wire_buf_consume(&o->bytes, n);
    o->sent += n;
}

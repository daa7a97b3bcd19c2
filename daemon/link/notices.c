/* See notices.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>

#include "daemon/link/notices.h"
#include "daemon/observe/log.h"

#define PATROL  UINT64_C(100000)
#define LONGEST (sizeof(struct inotify_event) + NAME_MAX + 1)

int notices_open(const char *what)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        log_warning("no inotify instance for %s: %s (see fs.inotify.max_user_instances); "
                    "they are looked at from time to time",
                    what, strerror(errno));
    return fd;
}

int notices_init(struct notices *n, struct volt_runtime *rt, int fd)
{
    n->events = fd >= 0;
    if (n->events)
        return volt_io_init(&n->io, rt, fd);
    volt_sleep_init(&n->pause, PATROL);
    return 0;
}

/* READY: n->received bytes of events; 0: nothing is known; negative: the runtime is
 * closing. */
static enum volt_poll read_poll(struct volt_cx *cx, struct notices *n)
{
    if (n->events) {
        if (volt_io_read_poll(cx, &n->io, n->buf, sizeof(n->buf), &n->received) ==
            VOLT_PENDING)
            return VOLT_PENDING;
        if (n->received > 0 && (size_t)n->received + LONGEST <= sizeof(n->buf))
            volt_io_clear_readable(&n->io); /* there was no other */
        return VOLT_READY;
    }
    if (volt_sleep_poll(cx, &n->pause) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&n->pause);
    volt_sleep_init(&n->pause, PATROL);
    n->received = 0;
    return VOLT_READY;
}

enum volt_poll notices_poll(struct volt_cx *cx, struct notices *n, notices_fn *fn,
                            void *arg)
{
    for (;;) {
        if (read_poll(cx, n) == VOLT_PENDING)
            return VOLT_PENDING;
        if (n->received < 0)
            return VOLT_READY;
        if (n->received == 0)
            fn(arg, NULL);
        for (ssize_t at = 0; at < n->received;) {
            const struct inotify_event *e = (const void *)(n->buf + at);
            fn(arg, e->mask & IN_Q_OVERFLOW ? NULL : e);
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    }
}

void notices_fini(struct notices *n)
{
    if (n->events)
        volt_io_fini(&n->io);
    else
        volt_sleep_fini(&n->pause);
}

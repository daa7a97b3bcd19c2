/* See notices.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>

#include "daemon/exec/notices.h"
#include "daemon/observe/log.h"

#define PATROL  UINT64_C(100000)
#define LONGEST (sizeof(struct inotify_event) + NAME_MAX + 1)

int notices_open(const char *what)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        log_warning("no inotify instance for %s: %s (see fs.inotify.max_user_instances); "
                    "they are looked at ten times a second",
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

enum volt_poll notices_poll(struct volt_cx *cx, struct notices *n, void *events,
                            size_t size, ssize_t *ret)
{
    if (n->events) {
        if (volt_io_read_poll(cx, &n->io, events, size, ret) == VOLT_PENDING)
            return VOLT_PENDING;
        if (*ret > 0 && (size_t)*ret + LONGEST <= size)
            volt_io_clear_readable(&n->io); /* there was no other */
        return VOLT_READY;
    }
    if (volt_sleep_poll(cx, &n->pause) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&n->pause);
    volt_sleep_init(&n->pause, PATROL);
    *ret = 0;
    return VOLT_READY;
}

void notices_fini(struct notices *n)
{
    if (n->events)
        volt_io_fini(&n->io);
    else
        volt_sleep_fini(&n->pause);
}

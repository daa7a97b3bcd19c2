/* See notices.h. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <volt/volt.h>

#include "daemon/link/notices.h"
#include "daemon/observe/log.h"

#define PATROL  UINT64_C(100000)
#define LONGEST (sizeof(struct inotify_event) + NAME_MAX + 1)

struct notices {
    const struct notices_ops *ops;
    void *arg;
    bool telling; /* of what began last */
    bool events;  /* there is an instance: io; otherwise pause */
    struct volt_io io;
    struct volt_sleep pause;
    ssize_t received, at; /* bytes in buf, and how many of them have begun */
    _Alignas(struct inotify_event) char buf[4096];
};

int notices_open(const char *what)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        log_warning("no inotify instance for %s: %s (see fs.inotify.max_user_instances); "
                    "they are looked at from time to time",
                    what, strerror(errno));
    return fd;
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

static void begin_next(struct notices *n)
{
    const struct inotify_event *e = (const void *)(n->buf + n->at);

    n->ops->begin(n->arg, e->mask & IN_Q_OVERFLOW ? NULL : e);
    n->telling = true;
    n->at += (ssize_t)(sizeof(*e) + e->len);
}

/* Tells of what was read. True: there is more, for which the looks do not suffice. */
static bool has_more(struct notices *n, size_t *looks)
{
    for (;;) {
        n->telling = n->telling && n->ops->go_on(n->arg, looks);
        if (n->telling)
            return true;
        if (n->at >= n->received)
            return false;
        begin_next(n);
    }
}

static enum volt_poll notices_poll(struct volt_cx *cx, void *state)
{
    struct notices *n = state;
    size_t looks = NOTICES_LOOKS;

    while (!has_more(n, &looks)) {
        if (read_poll(cx, n) == VOLT_PENDING)
            return VOLT_PENDING;
        if (n->received < 0)
            return VOLT_READY;
        n->at = 0;
        if (n->received == 0) {
            n->ops->begin(n->arg, NULL);
            n->telling = true;
        }
    }
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void notices_drop(void *state)
{
    struct notices *n = state;

    if (n->events)
        volt_io_fini(&n->io);
    else
        volt_sleep_fini(&n->pause);
}

static const struct volt_task_type notices_type = {"notices", sizeof(struct notices),
                                                   notices_poll, notices_drop, NULL};

int notices_start(struct volt_runtime *rt, int fd, const struct notices_ops *ops,
                  void *arg)
{
    struct notices *n = volt_task_new(rt, &notices_type);

    if (!n)
        return -ENOMEM;
    n->ops = ops;
    n->arg = arg;
    int r = fd >= 0 ? volt_io_init(&n->io, rt, fd) : 0;
    if (r < 0) {
        volt_task_discard(n);
        return r;
    }
    n->events = fd >= 0;
    if (!n->events)
        volt_sleep_init(&n->pause, PATROL);
    return volt_task_spawn(n, NULL);
}

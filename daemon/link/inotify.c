/* See inotify.h. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/inotify.h>
#include <volt/volt.h>

#include "daemon/link/inotify.h"
#include "daemon/observe/log.h"

#define PATROL  UINT64_C(100000)
#define LONGEST (sizeof(struct inotify_event) + NAME_MAX + 1)

struct inotify_reader {
    const struct inotify_reader_ops *ops;
    void *arg;
    bool telling;      /* the latest event that began is not done */
    bool reads;        /* reads io; otherwise pauses */
    bool said;         /* the log says that io cannot be read */
    struct volt_io io; /* empty: no instance */
    struct volt_sleep pause;
    ssize_t received, at; /* bytes in buf, and how many are handled */
    _Alignas(struct inotify_event) char buf[4096];
};

int inotify_reader_open(const char *what)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (fd < 0)
        log_warning("no inotify instance for %s: %s (see fs.inotify.max_user_instances); "
                    "they are looked at from time to time",
                    what, strerror(errno));
    return fd;
}

static void say_unread(struct inotify_reader *n)
{
    if (!n->said)
        log_warning(
            "events of files cannot be read: %s; the files are looked at from time "
            "to time",
            strerror((int)-n->received));
    n->said = true;
}

/* READY: n->received bytes of events; 0: all may have changed; negative: the runtime is
 * closing. If reading fails, reads again after a pause. */
static enum volt_poll read_poll(struct volt_cx *cx, struct inotify_reader *n)
{
    if (n->reads) {
        if (volt_io_read_poll(cx, &n->io, n->buf, sizeof(n->buf), &n->received) ==
            VOLT_PENDING)
            return VOLT_PENDING;
        if (n->received > 0 && (size_t)n->received + LONGEST <= sizeof(n->buf))
            volt_io_clear_readable(&n->io); /* all were read */
        if (n->received > 0 || n->received == -ESHUTDOWN)
            return VOLT_READY;
        say_unread(n);
        n->reads = false;
        volt_sleep_init(&n->pause, PATROL);
    }
    if (volt_sleep_poll(cx, &n->pause) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&n->pause);
    n->reads = n->io.registration;
    if (!n->reads)
        volt_sleep_init(&n->pause, PATROL);
    n->received = 0;
    return VOLT_READY;
}

static void begin_next(struct inotify_reader *n)
{
    const struct inotify_event *e = (const void *)(n->buf + n->at);

    n->ops->begin(n->arg, e->mask & IN_Q_OVERFLOW ? NULL : e);
    n->telling = true;
    n->at += (ssize_t)(sizeof(*e) + e->len);
}

/* Handles the events that were read; each costs a look itself. Returns whether more is
 * left than looks. */
static bool has_more(struct inotify_reader *n, size_t *looks)
{
    for (;;) {
        n->telling = n->telling && n->ops->go_on(n->arg, looks);
        if (n->telling)
            return true;
        if (n->at >= n->received)
            return false;
        if (!*looks)
            return true;
        --*looks;
        begin_next(n);
    }
}

static enum volt_poll inotify_reader_poll(struct volt_cx *cx, void *state)
{
    struct inotify_reader *n = state;
    size_t looks = INOTIFY_LOOKS;

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

static void inotify_reader_drop(void *state)
{
    struct inotify_reader *n = state;

    volt_sleep_fini(&n->pause);
    volt_io_fini(&n->io);
}

static const struct volt_task_type inotify_reader_type = {
    "inotify", sizeof(struct inotify_reader), inotify_reader_poll, inotify_reader_drop,
    NULL};

int inotify_reader_start(struct volt_runtime *rt, int fd,
                         const struct inotify_reader_ops *ops, void *arg)
{
    struct inotify_reader *n = volt_task_new(rt, &inotify_reader_type);

    if (!n)
        return -ENOMEM;
    n->ops = ops;
    n->arg = arg;
    int r = fd >= 0 ? volt_io_init(&n->io, rt, fd) : 0;
    if (r < 0) {
        volt_task_discard(n);
        return r;
    }
    n->reads = fd >= 0;
    if (!n->reads)
        volt_sleep_init(&n->pause, PATROL);
    return volt_task_spawn(n, NULL);
}

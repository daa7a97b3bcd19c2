/* Reads the events of an inotify instance. Without an instance, reports a change of
 * everything ten times a second.
 *
 * A user has 128 instances, and other programs of the user need some too. voltd must find
 * its running jobs again without one. If an instance cannot be read, for example as epoll
 * has no watch left, it is read again after each pause. */
#ifndef VOLTD_LINK_INOTIFY_H
#define VOLTD_LINK_INOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <volt/runtime.h>

/* Returns a new instance; -1: none, with a warning in the log that names `what` is
 * watched. */
int inotify_reader_open(const char *what);

#define INOTIFY_LOOKS 500 /* per poll; an event is one look, too */

struct inotify_reader_ops {
    /* Begins to handle an event; NULL: events were lost, so all may have changed. */
    void (*begin)(void *arg, const struct inotify_event *e);
    /* Goes on with that event while *looks lasts, and deducts its looks. Returns whether
     * more is left, after a turn of other tasks. */
    bool (*go_on)(void *arg, size_t *looks);
};

/* Spawns a task that handles all events, one after the other, until the runtime closes.
 * fd: from inotify_reader_open(), borrowed until then. Returns 0, -ENOMEM or
 * -ESHUTDOWN. */
int inotify_reader_start(struct volt_runtime *rt, int fd,
                         const struct inotify_reader_ops *ops, void *arg);

#endif

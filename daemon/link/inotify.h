/* The events of an inotify instance, as they come; or, where no instance is to be had, a
 * look at everything ten times a second. A user has 128 instances, and other programs
 * of that user take them, too: that must not keep voltd from coming back to its running
 * jobs. Nor must an instance that cannot be read, as where epoll has no watch for it:
 * it is tried again each time. */
#ifndef VOLTD_LINK_INOTIFY_H
#define VOLTD_LINK_INOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <volt/runtime.h>

/* A new instance, or -1 with a warning in the log that names `what` is watched. */
int inotify_reader_open(const char *what);

#define INOTIFY_LOOKS 500 /* that one poll takes; each event is one */

struct inotify_reader_ops {
    /* Begins to tell of an event; NULL: some are not known, everybody is to be told. */
    void (*begin)(void *arg, const struct inotify_event *e);
    /* Tells of it while there are looks left, and counts them down. True: there is more
     * to tell, and others have a turn first. */
    bool (*go_on)(void *arg, size_t *looks);
};

/* A task that does so with all that comes, one event after the other, until the runtime
 * closes. fd: of inotify_reader_open(), borrowed for as long. 0; -ENOMEM; -ESHUTDOWN. */
int inotify_reader_start(struct volt_runtime *rt, int fd,
                         const struct inotify_reader_ops *ops, void *arg);

#endif

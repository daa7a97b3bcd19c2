/* The events of an inotify instance, as they come; or, where no instance is to be had, a
 * look at everything ten times a second. A user has 128 instances, and other programs
 * of that user take them, too: that must not keep voltd from coming back to its running
 * jobs. */
#ifndef VOLTD_LINK_NOTICES_H
#define VOLTD_LINK_NOTICES_H

#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/types.h>
#include <volt/io.h>
#include <volt/time.h>

/* A new instance, or -1 with a warning in the log that names `what` is watched. */
int notices_open(const char *what);

/* An event; NULL: some are not known, look at everything. */
typedef void notices_fn(void *arg, const struct inotify_event *e);

/* Zero-initialised it may be finished. */
struct notices {
    bool events; /* the rest is private */
    struct volt_io io;
    struct volt_sleep pause;
    ssize_t received;
    _Alignas(struct inotify_event) char buf[4096];
};

/* fd of notices_open(), borrowed; -1: the pauses begin. 0; -ENOMEM; -ESHUTDOWN. */
int notices_init(struct notices *n, struct volt_runtime *rt, int fd);
/* For a task that does only this: fn is called for all that comes. READY: the runtime is
 * closing. */
enum volt_poll notices_poll(struct volt_cx *cx, struct notices *n, notices_fn *fn,
                            void *arg);
void notices_fini(struct notices *n);

#endif

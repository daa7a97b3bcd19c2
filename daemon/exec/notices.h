/* The events of an inotify instance, as they come; or, where no instance is to be had, a
 * look at everything ten times a second. A user has 128 instances, and whatever else he
 * runs takes them, too: that must not keep voltd from coming back to its running jobs. */
#ifndef VOLTD_EXEC_NOTICES_H
#define VOLTD_EXEC_NOTICES_H

#include <stdbool.h>
#include <volt/io.h>
#include <volt/time.h>

/* A new instance, or -1 with a warning in the log that names `what` is watched. */
int notices_open(const char *what);

/* Zero-initialised it may be finished. */
struct notices {
    bool events; /* the rest is private */
    struct volt_io io;
    struct volt_sleep pause;
};

/* fd of notices_open(), borrowed; -1: the pauses begin. 0; -ENOMEM; -ESHUTDOWN. */
int notices_init(struct notices *n, struct volt_runtime *rt, int fd);
/* READY: *ret bytes of events; 0: nothing is known, look at everything; negative: the
 * runtime is closing. */
enum volt_poll notices_poll(struct volt_cx *cx, struct notices *n, void *events,
                            size_t size, ssize_t *ret);
void notices_fini(struct notices *n);

#endif

/* Processes and signals: waiting for the end of a child, and for signals, as leaves.
 *
 * Both are descriptors of the kernel in the runtime's event loop: a pidfd and a signalfd.
 * A leaf is made by any thread, polled by one task of that runtime, and ended once, in
 * the task's drop; a zeroed one may be ended.
 *
 * A child inherits the blocked signals of the thread that makes it, also beyond
 * execve(2), and the threads of a runtime block all: one that a task starts is ended by
 * no SIGTERM. Start it with an empty mask: posix_spawnattr_setsigmask(3), volt_child(3).
 *
 * lib/io/process.c. */
#ifndef VOLT_PROCESS_H
#define VOLT_PROCESS_H

#include <signal.h>
#include <sys/signalfd.h>
#include <volt/io.h>

VOLT_BEGIN_DECLS

/* ---- child ------------------------------------------------------------------------- */

/* Leaf: the end of a child of this process. All fields are private. */
struct volt_child {
    int fd;
    struct volt_io io;
};

/* 0; -ESRCH, -EINVAL: there is no such process; -ENOSYS: the kernel has no pidfds;
 * -EMFILE and its like; -ENOMEM; -ESHUTDOWN. Nobody else may have waited for the child,
 * nor may the program ignore SIGCHLD. */
VOLT_API int volt_child_init(struct volt_child *c, struct volt_runtime *rt, pid_t pid);
/* READY, once: it has ended and is reaped; *ret_status is as waitpid(2) says. Or it
 * cannot be waited for: *ret_status is a negative errno, -ECHILD for what is no child of
 * this process, or was reaped elsewhere, -ESHUTDOWN when the runtime shuts down. */
VOLT_API enum volt_poll volt_child_poll(struct volt_cx *cx, struct volt_child *c,
                                        int *ret_status);
/* As kill(2), but never of another process that has got its number. 0 or a negative
 * errno: -ESRCH, it has ended. */
VOLT_API int volt_child_kill(const struct volt_child *c, int signal);
/* In every state. A child that runs goes on, and is not reaped. */
VOLT_API void volt_child_fini(struct volt_child *c);

/* ---- signals ----------------------------------------------------------------------- */

/* Leaf: signals that were sent to this process. All fields are private. */
struct volt_signals {
    int fd;
    struct volt_io io;
    struct signalfd_siginfo info;
};

/* Of the signals in set, which is copied. They must be blocked in every thread, best by
 * main before it starts any; the threads of a runtime block all. 0, or a negative errno
 * as above. */
VOLT_API int volt_signals_init(struct volt_signals *s, struct volt_runtime *rt,
                               const sigset_t *set);
/* READY: *ret_signal is the number of one that came, which is pending no more; or a
 * negative errno. Polled again it waits for the next. */
VOLT_API enum volt_poll volt_signals_poll(struct volt_cx *cx, struct volt_signals *s,
                                          int *ret_signal);
/* In every state. What comes from then on stays pending. */
VOLT_API void volt_signals_fini(struct volt_signals *s);

VOLT_END_DECLS

#endif

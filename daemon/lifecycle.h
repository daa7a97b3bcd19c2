/* The life of a running daemon: signals, reload, and the way to its end.
 *
 * One task waits for a reason to stop (control_shutdown: SIGTERM, SIGINT, or a client)
 * and then goes: no more connections, no more starts, with cancel the end of all jobs,
 * the last answers, READY. Running jobs are left to their shims otherwise. A second
 * signal goes at once. Another task reads the signals from a signalfd, so nothing wakes
 * an idle daemon. */
#ifndef VOLTD_LIFECYCLE_H
#define VOLTD_LIFECYCLE_H

#include <signal.h>
#include "daemon/config/control.h"
#include "daemon/life/life.h"
#include "daemon/server/server.h"

struct control_options {
    struct volt_runtime *rt;
    struct core *core;
    const char *config_path; /* borrowed */
    bool config_must_exist;
    const struct config *config; /* copied */
    bool workers_given;          /* on the command line: no file changes them */
    void (*reloaded)(void *arg); /* behind each SIGHUP, outside of workers */
    void *arg;
};

/* The signals that the control task answers; to be blocked before the first thread. */
void control_signals(sigset_t *ret);

/* Returns new, before the server (which needs it); NULL: no memory. */
struct control *control_new(const struct control_options *o);
/* Spawns the tasks. 0 or -errno. Borrows server. */
int control_start(struct control *c, struct server *server);
/* Blocks until it is time to take everything down. */
void control_wait(struct control *c);
void control_free(struct control *c); /* after volt_runtime_shutdown() */

#endif

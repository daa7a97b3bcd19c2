/* Life of a running daemon: signals, reload, and the end.
 *
 * A task waits for a reason to stop (control_shutdown(), SIGTERM or SIGINT). Then it
 * closes the listeners, starts no more jobs, with cancel ends all jobs, and waits for the
 * last answers. Without cancel, running jobs stay with their shims. A second signal ends
 * voltd at once. Another task reads the signals from a signalfd, so an idle daemon has no
 * wake-ups. */
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
    const struct config *config;        /* copied */
    const struct config_queues *queues; /* likewise; NULL: none */
    bool workers_given;          /* set on the command line: no file changes them */
    void (*reloaded)(void *arg); /* called at each SIGHUP, before the reload; may block */
    void *arg;
};

/* Returns the signals that the control task handles, to be blocked before the first
 * thread. */
void control_signals(sigset_t *ret);

/* Returns new, NULL without memory. Call before server_new(), which needs it. */
struct control *control_new(const struct control_options *o);
/* Spawns the tasks; borrows server. Returns 0 or -errno. */
int control_start(struct control *c, struct server *server);
/* Blocks until the end task is done. */
void control_wait(struct control *c);
void control_free(struct control *c); /* after volt_runtime_shutdown() */

#endif

/* The life of the daemon's jobs: start, reload, end. */
#ifndef VOLTD_LIFE_LIFE_H
#define VOLTD_LIFE_LIFE_H

#include <volt/volt.h>
#include "daemon/core/core.h"
#include "daemon/steer/steer.h"

struct config;
struct config_queues;
struct limit_defaults;
struct queue_config;

struct life_options {
    struct volt_runtime *rt;
    const struct config *config;        /* borrowed until the next reload */
    const struct config_queues *queues; /* borrowed for the call; NULL: "default" alone */
    struct store *store; /* taken when the directories are open; NULL: in state_dir */
    const char *runtime_dir, *state_dir, *record_dir;      /* borrowed */
    const char *keeper_path, *keeper_socket, *keepers_dir; /* struct run_options */
    uint64_t descriptors; /* soft RLIMIT_NOFILE of jobs; 0: voltd's own */
    const char *socket;   /* path of the socket, for the environment of jobs; borrowed */
};
/* Connects to the keeper or starts it, replays the store, scans the records, starts the
 * tasks. After a failure the runtime may have been shut down. */
int life_new(const struct life_options *o, struct core **ret, struct volt_error *err);
/* Applies a new configuration. queues: from allowed_queues(). limits: from
 * allowed_limits(); NULL: none. Returns 0 and has taken the limits; or, and nothing has
 * changed:
 *   -ENOMEM, -E2BIG
 *   -EOPNOTSUPP      there are limits, and jobs here have no cgroups */
int life_reload(struct core *core, const struct config *config,
                struct limit_defaults *limits, struct queue_config *queues,
                size_t nqueues);
/* Refuses new submissions (they answer -ESHUTDOWN) and starts no more jobs. */
void life_close(struct core *core);
/* Counts what the end of voltd waits for. cancel: all jobs that have not ended; otherwise
 * the jobs that are starting. A submission under way counts as its jobs with cancel,
 * otherwise as one. */
uint64_t life_left(struct core *core, bool cancel);
/* Leaf future: READY when voltd is closed and life_left() is 0. */
struct life_drain {
    struct core *core;
    bool cancel;
    struct steer_all all; /* private, with the rest */
    struct volt_sleep rest;
    struct volt_notified news;
    int at;
};
enum volt_poll life_drain_poll(struct volt_cx *cx, struct life_drain *d);
void life_drain_fini(struct life_drain *d);
void life_free(struct core *core); /* after the runtime has shut down */

#endif

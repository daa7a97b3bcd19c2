/* The life of the daemon's jobs: start, reload, end. */
#ifndef VOLTD_LIFE_LIFE_H
#define VOLTD_LIFE_LIFE_H

#include <volt/volt.h>
#include "daemon/core/core.h"
#include "daemon/steer/steer.h"

struct config;
struct config_queues;
struct queue_config;

struct life_options {
    struct volt_runtime *rt;
    const struct config *config;        /* borrowed until the next reload */
    const struct config_queues *queues; /* borrowed for the call; NULL: "default" alone */
    struct store *store; /* taken when the directories are open; NULL: in state_dir */
    const char *runtime_dir, *state_dir, *record_dir; /* borrowed */
    const char *keeper_path;                          /* program; borrowed */
    uint64_t descriptors; /* soft RLIMIT_NOFILE of jobs; 0: voltd's own */
    const char *socket;   /* its path, for the variables of jobs; borrowed */
    const char *home;     /* of the account that jobs run as; NULL: none; borrowed */
};
/* Connects to the keeper or starts it, replays the store, scans the records, starts the
 * tasks. Where it fails the runtime may have been shut down. */
int life_new(const struct life_options *o, struct core **ret, struct volt_error *err);
/* queues: those of allowed_queues(). 0; -ENOMEM, -E2BIG: nothing has changed. */
int life_reload(struct core *core, const struct config *config,
                struct queue_config *queues, size_t nqueues);
/* No new submissions (they answer -ESHUTDOWN) and no new starts. */
void life_close(struct core *core);
/* What an end waits for: every job if they are to be ended first, otherwise those whose
 * start is under way. Submissions on their way count: their jobs, or else each as one. */
uint64_t life_left(struct core *core, bool cancel);
/* Leaf: READY when voltd is closed and life_left() is 0. */
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

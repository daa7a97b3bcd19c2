/* Follow: waiting for more of a job's output, and for its start and end, without timers.
 *
 * One inotify instance for all (a user may have 128) watches only files that somebody
 * follows. It is the source of notifications of growth (log/subscription.h); those of the
 * job come from changes.h. A follower subscribes to both:
 *
 *   1. follow_arm()
 *   2. reads state and file (follow_file() before its first read)
 *   3. nothing new: follow_poll()
 *
 * So a change that the reading misses is notified after it. Without an inotify instance
 * all followers are notified from time to time (inotify.h). */
#ifndef VOLTD_QUERY_FOLLOW_H
#define VOLTD_QUERY_FOLLOW_H

#include <volt/task.h>
#include "daemon/log/subscription.h"
#include "daemon/query/changes.h"

struct follows;
struct core;

/* 0; -ENOMEM. */
int follows_open(struct follows **ret);
/* Spawns the task that reads the events of inotify. 0; -ENOMEM; -ESHUTDOWN. */
int follows_start(struct follows *f, struct core *core);
/* After the runtime was shut down, without followers. NULL is allowed. */
void follows_free(struct follows *f);

/* Private. May be finished when zero-initialised. Must not move between the first arm and
 * fini. */
struct follow {
    struct follows *all; /* NULL: not begun */
    struct job_subscriber job_subscriber;
    struct job_subscription job;
    struct subscriber subscriber;
    struct subscription growth;
    int wd; /* -1: no file yet */
};

/* Subscribes to a job or element, for the task that polls; or arms it again. */
void follow_arm(struct volt_cx *cx, struct follow *f, struct core *core,
                const struct job_key *key);
/* Watches this open file, the job's output. Call once. 0; -errno: growth cannot be
 * watched. */
int follow_file(struct follow *f, int fd);
/* READY: there may be news since it was armed. */
enum volt_poll follow_poll(struct follow *f);
void follow_fini(struct follow *f);

#endif

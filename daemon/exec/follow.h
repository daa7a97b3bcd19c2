/* Waiting for more of a job's output, and for its start and end: no timer looks.
 *
 * One inotify instance for all (a user has 128) watches the files that somebody follows,
 * and only these; of the job changes.h tells. A follower registers, then looks, then
 * waits:
 *
 *   follower                            what happens
 *   1. follow_arm()                     1. the file has grown, the state has changed
 *   2. state, file (follow_file()       2. its followers are told
 *      before its first read)
 *   3. nothing new: follow_poll()
 *
 * so that whatever the look does not see is told after it. Without an inotify instance
 * all are told to look from time to time (notices.h). */
#ifndef VOLTD_EXEC_FOLLOW_H
#define VOLTD_EXEC_FOLLOW_H

#include <volt/task.h>
#include "base/list.h"
#include "daemon/exec/changes.h"

struct follows;
struct manager;

/* 0; -ENOMEM. */
int follows_open(struct follows **ret);
/* Spawns the task that reads what inotify tells. 0; -ENOMEM; -ESHUTDOWN. */
int follows_start(struct follows *f, struct manager *m);
/* After the runtime was shut down; no follower may be left. NULL is allowed. */
void follows_free(struct follows *f);

enum follow_by { FOLLOW_ANY, FOLLOW_FILE };

/* Private. Zero-initialised it may be finished. Must not move between the first arm and
 * fini. */
struct follow {
    struct follows *all;
    struct listener listener;
    struct interest job;
    int wd; /* -1: no file yet */
    bool registered;
    bool told; /* since it was armed */
    struct volt_waker waker;
    struct list_node by[2]; /* enum follow_by */
    uint64_t walk[2];       /* the latest that has come by */
};

/* A follower of a job or element; its task is the one that polls here. */
void follow_arm(struct volt_cx *cx, struct follow *f, struct manager *m,
                const struct job_key *key);
/* Its output is this open file. Once. 0; -errno: its growth cannot be watched. */
int follow_file(struct follow *f, int fd);
/* READY: there may be news since it was armed. */
enum volt_poll follow_poll(struct follow *f);
void follow_fini(struct follow *f);

#endif

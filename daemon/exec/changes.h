/* Who waits for changes of certain jobs hears of these, and of no others.
 *
 * One task reads the events of jobs as they happen, only while somebody waits for any,
 * and finds whom an event concerns by the id of its job. Who waits enters his interests,
 * looks at the jobs, and takes what he was told since:
 *
 *   who waits                           what happens
 *   1. listener_add(), for each job     1. the job changes, with an event
 *   2. looks at them                    2. the event is read
 *   3. listener_next(); NULL: pending   3. the interest is told, its task woken
 *
 * so that whatever the look does not see is told after it. */
#ifndef VOLTD_EXEC_CHANGES_H
#define VOLTD_EXEC_CHANGES_H

#include <volt/task.h>
#include "daemon/job/key.h"

struct changes;
struct manager;

/* 0; -ENOMEM. */
int changes_open(struct changes **ret);
/* Spawns the task. 0; -ENOMEM; -ESHUTDOWN. */
int changes_start(struct manager *m);
/* After the runtime was shut down; nobody may be left. NULL is allowed. */
void changes_free(struct changes *c);

/* What has changed. */
struct change {
    bool ended;     /* in this way; otherwise only a look at the job tells */
    uint8_t result; /* enum job_result */
    int32_t code;
};

/* In one job, one element, or an array with its elements. Private; must not move, nor go
 * before its listener has been finished. */
struct interest {
    struct job_key key;
    struct listener *by;
    struct interest *prev, *next, *next_of_listener, *next_told;
    uint64_t seq; /* of the latest event that was told */
    struct change change;
    bool told;
};

/* A task that waits. Private; must not move. Zero-initialised it may be finished. */
struct listener {
    struct changes *changes;
    struct volt_waker waker;
    struct interest *interests, *told;
    uint64_t since; /* the newest event when it began */
    bool of_ends;
};

/* The task is the one that polls here. of_ends: it hears only of what may be an end. */
void listener_init(struct volt_cx *cx, struct listener *l, struct manager *m,
                   bool of_ends);
void listener_add(struct listener *l, struct interest *i, const struct job_key *key);
/* The next one that was told of a change. NULL: none; the task will be woken. */
struct interest *listener_next(struct listener *l, struct change *ret);
void listener_fini(struct listener *l);

#endif

/* A task that waits for changes of certain jobs is notified of these, and of no others.
 *
 * The source of these notifications (log/subscription.h) is one task that reads the
 * events of jobs as they happen, only while somebody waits for any, and finds what an
 * event concerns by its job or element, and by the array of that. A task subscribes to
 * jobs, looks at them, and takes what it was notified of since:
 *
 *   the waiting task                      the source
 *   1. job_subscriber_add(), for each     1. the job changes, with an event
 *   2. looks at them                      2. the event is read
 *   3. job_subscriber_next(); NULL:       3. the change is noted with the subscription,
 *      pending                               its task woken
 *
 * so that whatever the look does not see is notified after it.
 *
 * An event may concern twenty thousand subscriptions: of an array that is cancelled, each
 * to an element of it. The task looks at CHANGES_LOOKS of them in a poll and goes on in
 * the next one, after others. */
#ifndef VOLTD_QUERY_CHANGES_H
#define VOLTD_QUERY_CHANGES_H

#include <volt/runtime.h>
#include <volt/task.h>
#include "daemon/job/key.h"
#include "daemon/log/subscription.h"

#define CHANGES_LOOKS 500 /* of a poll: subscriptions and lists */

struct changes;
struct core;

/* Copies core's secret. 0; -ENOMEM. */
int changes_open(struct core *core, struct changes **ret);
/* Spawns the task. 0; -ENOMEM; -ESHUTDOWN. */
int changes_start(struct core *core);
/* After the runtime was shut down; nobody may be left. NULL is allowed. */
void changes_free(struct changes *c);

/* What has changed. */
struct change {
    bool ended;     /* in this way; otherwise only a look at the job tells */
    bool notified;  /* private */
    uint8_t result; /* enum job_result */
    uint8_t exit_code;
};

/* To one job, one element, or an array with its elements. Private but for its job; must
 * not move, nor go before its subscriber has been finished. A call may have 20,000 of
 * them. */
struct job_subscription {
    uint64_t id;
    int64_t index;
    struct subscription of[2]; /* its job or element, and its array */
    struct job_subscription *next_notified;
    struct change change;
};

/* A task that waits. Private; must not move. Zero-initialised it may be finished. */
struct job_subscriber {
    struct subscriber subscriber;
    struct changes *changes;
    char *subscriptions; /* n of them so far, one every `stride` bytes */
    size_t stride, n;
    struct job_subscription *notified;
    uint64_t since; /* the newest event when it began */
    bool of_ends, gone;
};

/* The task is the one that polls here. of_ends: it is notified only of what may be an
 * end. first: where its first subscription will be, inside something of `stride` bytes;
 * the others follow it. Borrowed until the subscriber has been finished. */
void job_subscriber_init(struct volt_cx *cx, struct job_subscriber *s, struct core *core,
                         bool of_ends, struct job_subscription *first, size_t stride);
/* There is room for one more. */
void job_subscriber_add(struct job_subscriber *s, const struct job_key *key);
/* The next one with a change. NULL: none; the task will be woken. */
struct job_subscription *job_subscriber_next(struct job_subscriber *s,
                                             struct change *ret);
/* Of few subscriptions. */
void job_subscriber_fini(struct job_subscriber *s);
/* Of any number. Takes `memory`, which has the subscriber and its subscriptions: a task
 * frees it with free() when it has taken all of these out, some at a time. */
void job_subscriber_leave(struct job_subscriber *s, struct volt_runtime *rt,
                          void *memory);

#endif

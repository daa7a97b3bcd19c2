/* Changes: a task that waits for certain jobs is notified of their changes alone.
 *
 * The source of these notifications (log/subscription.h) is one task. It reads the events
 * of jobs as they happen, only while somebody waits, and finds subscriptions by the
 * event's job or element, and by its array. A task subscribes to jobs, looks at them, and
 * takes the changes that were noted since:
 *
 *   the waiting task                      the source
 *   1. job_subscriber_add(), for each     1. the job changes, with an event
 *   2. looks at the jobs                  2. the event is read
 *   3. job_subscriber_next(); NULL:       3. the change is noted with the subscription,
 *      pending                               the task is woken
 *
 * So a change that the look misses is notified after it.
 *
 * An event may concern 20,000 subscriptions: a cancelled array, with one for each
 * element. The task visits CHANGES_LOOKS of them per poll and goes on in the next one. */
#ifndef VOLTD_QUERY_CHANGES_H
#define VOLTD_QUERY_CHANGES_H

#include <volt/runtime.h>
#include <volt/task.h>
#include "daemon/job/key.h"
#include "daemon/log/subscription.h"

#define CHANGES_LOOKS 500 /* subscriptions and lists visited per poll */

struct changes;
struct core;

/* Copies core's secret. 0; -ENOMEM. */
int changes_open(struct core *core, struct changes **ret);
/* Spawns the task. 0; -ENOMEM; -ESHUTDOWN. */
int changes_start(struct core *core);
/* After the runtime was shut down, without subscribers. NULL is allowed. */
void changes_free(struct changes *c);

/* A change of a job. */
struct change {
    bool ended;     /* result and exit_code are set; otherwise only a look at the job
                     * tells */
    bool notified;  /* private */
    uint8_t result; /* enum job_result */
    uint8_t exit_code;
};

/* A subscription to a job, an element, or an array with its elements. Private except id
 * and index; must not move or be freed before its subscriber is finished. A call may have
 * 20,000. */
struct job_subscription {
    uint64_t id;
    int64_t index;
    struct subscription of[2]; /* in the lists of its job or element, and of its array */
    struct job_subscription *next_notified;
    struct change change;
};

/* The subscriptions of a waiting task. Private; must not move. May be finished when
 * zero-initialised. */
struct job_subscriber {
    struct subscriber subscriber;
    struct changes *changes;
    char *subscriptions; /* n of them, one every `stride` bytes */
    size_t stride, n;
    struct job_subscription *notified;
    uint64_t since; /* newest event at the beginning */
    bool of_ends, gone;
};

/* Begins, for the task that polls. of_ends: notify only events that may be ends. first:
 * the first of the subscriptions, which are members of structs of `stride` bytes in an
 * array; borrowed until the subscriber is finished. */
void job_subscriber_init(struct volt_cx *cx, struct job_subscriber *s, struct core *core,
                         bool of_ends, struct job_subscription *first, size_t stride);
/* Subscribes to one more job, with the next subscription of the array. */
void job_subscriber_add(struct job_subscriber *s, const struct job_key *key);
/* Returns the next subscription with a change. NULL: none; the task will be woken. */
struct job_subscription *job_subscriber_next(struct job_subscriber *s,
                                             struct change *ret);
/* Ends a few subscriptions at once. */
void job_subscriber_fini(struct job_subscriber *s);
/* Ends any number of subscriptions: a task removes some at a time. Takes `memory`, which
 * has the subscriber and the subscriptions, and calls free() on it. */
void job_subscriber_leave(struct job_subscriber *s, struct volt_runtime *rt,
                          void *memory);

#endif

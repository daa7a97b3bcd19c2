/* A task that waits for changes of certain jobs is woken for these, and for no others.
 *
 * One task reads the events of jobs as they happen, only while somebody waits for any,
 * and finds what an event concerns by its job or element, and by the array of that. A
 * task that waits enters its interests, looks at the jobs, and takes what it was told
 * since:
 *
 *   the waiting task                    what happens
 *   1. listener_add(), for each job     1. the job changes, with an event
 *   2. looks at them                    2. the event is read
 *   3. listener_next(); NULL: pending   3. the interest is told, its task woken
 *
 * so that whatever the look does not see is told after it.
 *
 * An event may concern twenty thousand interests: of an array that is cancelled, each
 * that is in an element of it. The task looks at CHANGES_LOOKS of them in a poll and goes
 * on in the next one, after others. It moves those that it has looked at to the end of
 * their list. One that comes meanwhile comes behind them: it looks at its job after the
 * event. */
#ifndef VOLTD_EXEC_CHANGES_H
#define VOLTD_EXEC_CHANGES_H

#include <volt/runtime.h>
#include <volt/task.h>
#include "base/list.h"
#include "base/siphash.h"
#include "daemon/job/key.h"

#define CHANGES_LOOKS 500 /* of a poll: interests, and lists that have none */

struct changes;
struct manager;

/* Copies the secret. 0; -ENOMEM. */
int changes_open(const struct siphash_key *secret, struct changes **ret);
/* Spawns the task. 0; -ENOMEM; -ESHUTDOWN. */
int changes_start(struct manager *m);
/* After the runtime was shut down; nobody may be left. NULL is allowed. */
void changes_free(struct changes *c);

/* What has changed. */
struct change {
    bool ended;     /* in this way; otherwise only a look at the job tells */
    bool told;      /* private */
    uint8_t result; /* enum job_result */
    uint8_t exit_code;
};

/* In one job, one element, or an array with its elements. Private but for its job; must
 * not move, nor go before its listener has been finished. A call may have 20,000 of
 * them. */
struct interest {
    uint64_t id;
    int64_t index;
    struct listener *by;
    struct list_node in[2]; /* the lists of its job or element, and of its array */
    struct interest *next_told;
    uint64_t walk; /* the latest that came by */
    struct change change;
};

/* A task that waits. Private; must not move. Zero-initialised it may be finished. */
struct listener {
    struct changes *changes;
    struct volt_waker waker;
    char *interests; /* n of them so far, one every `stride` bytes */
    size_t stride, n;
    struct interest *told;
    uint64_t since; /* the newest event when it began */
    bool of_ends, gone;
};

/* The task is the one that polls here. of_ends: it hears only of what may be an end.
 * first: where its first interest will be, inside something of `stride` bytes; the others
 * follow it. Borrowed until the listener has been finished. */
void listener_init(struct volt_cx *cx, struct listener *l, struct manager *m,
                   bool of_ends, struct interest *first, size_t stride);
/* There is room for one more. */
void listener_add(struct listener *l, const struct job_key *key);
/* The next one that was told of a change. NULL: none; the task will be woken. */
struct interest *listener_next(struct listener *l, struct change *ret);
/* Of few interests. */
void listener_fini(struct listener *l);
/* Of any number. Takes `memory`, which has the listener and its interests: a task frees
 * it with free() when it has taken all of these out, some at a time. */
void listener_leave(struct listener *l, struct volt_runtime *rt, void *memory);

#endif

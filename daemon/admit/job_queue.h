/* The named queues: a queue is a policy over the slots of the machine, not one more
 * number of them.
 *
 *   nominal  slots that are its own: while it has fewer, it comes before all queues that
 *            have theirs
 *   lends    others may take those that are idle; each that is given back is offered to
 *            it first. Otherwise they are kept for it. What is paused lends.
 *   most     slots that it may have; 0: any number
 *   user_most  slots that each user may have in it; 0: any number
 *   weight   its share of what is left, in time (virtual.h)
 *
 * So a queue below its nominal slots may take any free one, and another only those beyond
 * the sum that is kept for others. The sum of all nominal slots is at most the number of
 * slots; when that was lowered, each has its part of them (core/queues.h). */
#ifndef VOLTD_ADMIT_JOB_QUEUE_H
#define VOLTD_ADMIT_JOB_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/admit/treap.h"
#include "daemon/admit/virtual.h"

struct admission;

struct queue_policy {
    uint32_t nominal, most, user_most;
    uint32_t weight; /* at least 1 */
    bool lends;
    bool paused;      /* starts nothing */
    const char *name; /* for people; borrowed as long as the queue; NULL: it has none */
};

/* What the queue may have; the more, the greater. */
enum queue_state {
    QUEUE_IS_LIMITED, /* nothing: it is paused, or has all that it may have */
    QUEUE_IS_FULL,    /* nothing now */
    QUEUE_IS_ABLE,
};

struct job_queue {
    struct list_node node; /* in admission.queues */
    struct admission *all;
    uint32_t number; /* no two have the same */
    struct queue_policy policy;
    uint64_t slots;   /* that its jobs have */
    uint64_t waiting; /* waiters in the line, */
    uint64_t unmet;   /* and on conditions */
    uint64_t refs;    /* waiters that have a class of it, in a line or not */
    struct virtual time;
    struct treap busy;      /* of account.c: accounts that wait or run, by settled time */
    struct list holds_up;   /* of standing.c: resources that others leave to it */
    enum queue_state state; /* of standing.c: when it looked last */
};

/* Made with this policy; it stays. NULL: no memory. */
struct job_queue *queue_new(struct admission *a, const struct queue_policy *policy);
void queues_fini(struct admission *a);
/* The first account of it becomes busy. */
void queue_wake(struct job_queue *q);

/* Slots that its jobs take, or give back. */
void queue_add_slots(struct job_queue *q, uint64_t n);
void queue_sub_slots(struct job_queue *q, uint64_t n);
void queue_set(struct job_queue *q, const struct queue_policy *policy);
/* Whether a job of it may take a slot. */
enum queue_state queue_state(const struct job_queue *q);
/* Whether a is asked before b, another one. */
bool queue_is_before(const struct job_queue *a, const struct job_queue *b);
/* Slots, time or policy of the queue have changed. Returns whether the order of queues
 * has. */
bool queue_reorder(struct job_queue *q);

#endif

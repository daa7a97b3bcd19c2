/* The named queues. A queue is a policy over the slots of the machine, not additional
 * slots.
 *
 *   nominal  its own slots: while it has fewer, it goes before all queues that have
 *            theirs
 *   lends    others may take its idle slots; it is offered the next slots that are
 *            released. Otherwise idle slots are set aside for it. A paused queue lends.
 *   most     slots that it may have; 0: any number
 *   user_most  slots that each user may have in it; 0: any number
 *   weight   its share of the rest, in time (virtual.h)
 *
 * So a queue below its nominal slots may take any free slot; other queues only free slots
 * beyond those that are set aside. The nominal slots of all queues together are at most
 * the number of slots. If that number was lowered, each queue has its part of them
 * (core/queues.h). */
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
    bool paused;      /* starts no job */
    const char *name; /* for people; borrowed as long as the queue; NULL: no name */
};

/* How much the queue may have now; a greater value means more. */
enum queue_state {
    QUEUE_IS_LIMITED, /* no slot: it is paused or at its limit */
    QUEUE_IS_FULL,    /* no slot now: none is free for it */
    QUEUE_IS_ABLE,
};

struct job_queue {
    struct list_node node; /* in admission.queues */
    struct admission *all;
    uint32_t number; /* unique */
    struct queue_policy policy;
    uint64_t slots;   /* slots of its jobs */
    uint64_t waiting; /* waiters in the line, */
    uint64_t unmet;   /* and on conditions */
    uint64_t refs;    /* waiters with a class of this queue, in a line or not */
    struct virtual time;
    struct treap busy;      /* of account.c: accounts that wait or run, by settled time */
    struct list holds_up;   /* of standing.c: resources that others leave to it */
    enum queue_state state; /* of standing.c: state when it looked last */
};

/* Returns a new queue, which stays. NULL: no memory. */
struct job_queue *queue_new(struct admission *a, const struct queue_policy *policy);
void queues_fini(struct admission *a);
/* Updates the queue when its first account becomes busy. */
void queue_wake(struct job_queue *q);

/* Count slots that its jobs take or release. */
void queue_add_slots(struct job_queue *q, uint64_t n);
void queue_sub_slots(struct job_queue *q, uint64_t n);
void queue_set(struct job_queue *q, const struct queue_policy *policy);
/* Returns whether a job of the queue may take a slot. */
enum queue_state queue_state(const struct job_queue *q);
/* Returns whether a is asked before b, another queue. */
bool queue_is_before(const struct job_queue *a, const struct job_queue *b);
/* Moves the queue to its place after its slots, time or policy changed. Returns whether
 * the order of queues has changed. */
bool queue_reorder(struct job_queue *q);

#endif

/* A queue: which job gets the next slot. Pure; the manager's lock guards it.
 *
 * Priorities are few and bounded, so every one of them has a bucket: a list in order of
 * arrival. A bitmap finds the highest bucket that is not empty. Adding, taking and
 * removing are O(1) at any length and allocate nothing: the node is the waiter's.
 * Rejected: a heap, whose removal costs O(log n) and whose array must grow.
 *
 * Invariant: used <= slots, but after the number of slots was lowered below used, or by
 * queue_occupy(). */
#ifndef VOLTD_EXEC_QUEUE_H
#define VOLTD_EXEC_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/job/spec.h"

#define QUEUE_PRIORITIES     (JOB_PRIORITY_MAX - JOB_PRIORITY_MIN + 1)
#define QUEUE_EXACT_POSITION 128

/* One waiter, embedded in what waits. Zero-initialised: not in a queue. */
struct queue_node {
    struct list_node node;
    uint64_t order; /* of arrival */
    int32_t priority;
    bool queued;
};

struct queue_bucket {
    struct list waiters; /* the next one first */
    uint64_t count;
};

struct queue {
    uint32_t slots, used;
    uint64_t waiting; /* nodes in all buckets */
    uint64_t arrivals;
    uint64_t map[(QUEUE_PRIORITIES + 63) / 64]; /* bit 0: the highest priority */
    struct queue_bucket buckets[QUEUE_PRIORITIES];
};

void queue_init(struct queue *q, uint32_t slots);
void queue_set_slots(struct queue *q, uint32_t slots);

/* Behind all others of its priority. */
void queue_add(struct queue *q, struct queue_node *n, int32_t priority);
/* Its place is there, but it does not wait: for queue_put_back(). */
void queue_place(struct queue *q, struct queue_node *n, int32_t priority);
/* Back to where queue_take got it: before all of its priority that came later. */
void queue_put_back(struct queue *q, struct queue_node *n);
/* Nothing happens to a node that does not wait. */
void queue_remove(struct queue *q, struct queue_node *n);

/* Takes a slot for the first waiter and returns it, no longer waiting; NULL: no slot or
 * nobody. */
struct queue_node *queue_take(struct queue *q);
/* Takes a slot for one that need not wait. False: no slot, or somebody waits. */
bool queue_take_free(struct queue *q);
/* The first waiter; NULL: nobody. */
struct queue_node *queue_first(const struct queue *q);
/* Whether a's place is before b's; both need not wait. */
bool queue_before(const struct queue_node *a, const struct queue_node *b);
/* Takes a slot for one that waits no longer; after a restart also beyond the number of
 * slots. */
void queue_occupy(struct queue *q);
/* Takes up to n further slots for what queue_take() has given. Returns how many. */
uint64_t queue_take_more(struct queue *q, uint64_t n);
/* Gives a slot back, or n; then queue_take() again. */
void queue_release(struct queue *q);
void queue_release_some(struct queue *q, uint64_t n);

/* How many wait in front of n: exact below QUEUE_EXACT_POSITION in its own priority,
 * beyond that at most as many (those that left in between still count). */
uint64_t queue_position(const struct queue *q, const struct queue_node *n);

#endif

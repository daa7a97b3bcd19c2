/* The queues: how they are set, and what is in them, which is a number, whatever user
 * asks. */
#ifndef VOLTD_QUERY_QUEUES_H
#define VOLTD_QUERY_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "daemon/job/queue.h"

struct core;

struct queue_view {
    char name[QUEUE_NAME_BYTES + 1];
    bool paused, drained;
    bool gone;                           /* the configuration does not have it any more */
    uint64_t value[QUEUE_SETTINGS];      /* in force */
    bool by_hand[QUEUE_SETTINGS];        /* set by hand to something else than this: */
    uint64_t configured[QUEUE_SETTINGS]; /* by the configuration */
    char names[QUEUE_LISTS][QUEUE_NAMES_BYTES + 1]; /* in force; and likewise: */
    bool list_by_hand[QUEUE_LISTS];
    char names_configured[QUEUE_LISTS][QUEUE_NAMES_BYTES + 1];
    uint64_t used;                       /* slots that its jobs have */
    uint64_t waiting;                    /* jobs in the line, an array counted once */
};

/* All of them, at most QUEUES_MOST, but for those that are gone with their jobs. Returns
 * how many. Takes the lock. */
size_t query_queues(struct core *core, struct queue_view *ret);

#endif

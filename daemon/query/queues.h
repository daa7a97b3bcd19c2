/* Queues: their settings, and counts of what is in them, the same for every user. */
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
    bool gone;                                      /* no longer in the configuration */
    uint64_t value[QUEUE_SETTINGS];                 /* in force */
    bool by_hand[QUEUE_SETTINGS];                   /* set by hand, instead of: */
    uint64_t configured[QUEUE_SETTINGS];            /* by the configuration */
    char names[QUEUE_LISTS][QUEUE_NAMES_BYTES + 1]; /* in force; likewise: */
    bool list_by_hand[QUEUE_LISTS];
    char names_configured[QUEUE_LISTS][QUEUE_NAMES_BYTES + 1];
    uint64_t used;    /* slots that its jobs have */
    uint64_t waiting; /* jobs in the line, an array counted once */
};

/* Returns all queues, at most QUEUES_MOST, without those that are gone and empty. Takes
 * the lock. */
size_t query_queues(struct core *core, struct queue_view *ret);

#endif

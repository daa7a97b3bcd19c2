/* The state of admission, for the files of this room. */
#ifndef VOLTD_ADMIT_STATE_H
#define VOLTD_ADMIT_STATE_H

#include "daemon/admit/account.h"
#include "daemon/admit/admission.h"
#include "daemon/admit/class.h"
#include "daemon/admit/condition.h"
#include "daemon/admit/doom.h"
#include "daemon/admit/job_queue.h"
#include "daemon/admit/line.h"
#include "daemon/admit/named.h"
#include "daemon/admit/resource.h"
#include "daemon/admit/standing.h"
#include "daemon/admit/timed.h"
#include "daemon/admit/waiter.h"

struct admission {
    struct siphash_key secret;
    struct accounts accounts;
    struct hash_table classes;
    struct class *latest;    /* returned last, as the next ask is mostly equal; NULL */
    struct hash_table named; /* of named.c: resources by owner and name */
    uint64_t named_numbers;
    struct list gone;   /* of named.c: rates that were dropped */
    struct list queues; /* of job_queue.c, in the order of the last reorder */
    struct job_queue *first_queue;
    uint32_t queue_numbers;
    uint64_t kept; /* idle slots that are set aside for their queues */
    struct resource slots;
    struct admission_bypass bypass;
    struct line ready, blocked;    /* standing.h */
    uint64_t slotless;             /* READY classes without a slot */
    struct list due;               /* resources that may be offered */
    struct list disputed, mixed;   /* resources, by their members of these names */
    bool was_full;                 /* no slot was free when standing.c looked last */
    struct hash_table replaced;    /* conditions of condition_replace.c, by predecessor */
    struct hash_table antecedents; /* of condition_after.c, by job */
    struct hash_table deadlines;   /* of doom.c, by waiter */
    struct list decided;           /* antecedents whose state decides some of their
                                    * edges */
    struct list conditions;        /* condition.h: all */
    struct list doomed[DOOM_REASONS]; /* doom.h */
    struct timed_queue boottime;      /* by CLOCK_BOOTTIME */
    struct timed_queue dates;         /* by CLOCK_REALTIME */
    uint64_t now;                     /* the latest `now` passed in, CLOCK_BOOTTIME */
    uint64_t eligible, unmet;
    uint64_t lanes_looked; /* lanes looked at so far: the cost of long lines */
};

#endif

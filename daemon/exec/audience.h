/* Tasks that wait for the next entry of something that all of them read: the log.
 *
 * To wake a thousand tasks at once would put all of them in front of the job whose
 * change they hear of, and of its next change. So one task, the teller, wakes a few at a
 * time and gives the others a turn in between; a task that is told late finds more at
 * once.
 *
 *   hearer                            writer
 *   1. hearer_init()                  1. writes it
 *   2. reads all there is               2. audience_tell()
 *   3. hearer_poll(); READY: to 2
 *
 * so that whatever the reading does not see is told after it. */
#ifndef VOLTD_EXEC_AUDIENCE_H
#define VOLTD_EXEC_AUDIENCE_H

#include "base/list.h"
#include "base/lock.h"
#include <volt/volt.h>

struct audience { /* all private */
    vlock lock;   /* protects `told` and the list */
    uint64_t told;
    struct list hearers;    /* that wait; in the order of `heard` */
    struct volt_notify due; /* the teller has something to do */
};

void audience_init(struct audience *a);
/* Spawns the teller. 0; -ENOMEM; -ESHUTDOWN. */
int audience_start(struct audience *a, struct volt_runtime *rt);
/* After the runtime was shut down; nobody may be left. */
void audience_fini(struct audience *a);
/* There is something new. Any thread; never blocks, however many listen. */
void audience_tell(struct audience *a);

/* Leaf future of the task that polls it. Zero-initialised it may be finished. All
 * private. */
struct hearer {
    struct audience *audience;
    struct list_node node; /* in audience.hearers, while it waits */
    struct volt_waker waker;
    uint64_t heard; /* of `told`, when it last read */
    bool waits;     /* is in the list; lock */
};

void hearer_init(struct hearer *l, struct audience *a);
/* READY: there may be something new since it was initialised, or last READY. */
enum volt_poll hearer_poll(struct volt_cx *cx, struct hearer *l);
void hearer_fini(struct hearer *l);

#endif

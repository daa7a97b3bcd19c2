/* One queue that is changed by hand, in a bare core: a store that has the latest fact of it,
 * or refuses it, and what is done with the queue. One at a time. */
#ifndef TESTS_SUPPORT_TOLD_QUEUE_H
#define TESTS_SUPPORT_TOLD_QUEUE_H

#include "daemon/core/queues.h"
#include "daemon/store/fact.h"

extern struct told_queue {
    struct store store;
    bool refuses;
    const char *of; /* whose facts are expected */
    unsigned appends, kicks;
    uint64_t numbers[STORE_QUEUE_NUMBERS];
    size_t n;
} told;

/* From now on those of this queue are expected, and there are none. */
void told_init(const char *of);

/* It is changed, as queues_change() says. */
int told_change(struct core *core, struct queue_change *c);
int told_ask(struct core *core, enum queue_verb verb);
/* What the store has of it, as the next voltd reads it. */
void told_replay(struct core *core);
/* What is as it is configured leaves the store. */
void told_tidy(struct core *core);

/* Whether this queue takes a job of that user and group: as queues_take() says. */
int told_take(struct core *core, uid_t uid, gid_t gid, const char *queue,
              struct volt_error *err);

/* A list of one user under these names. */
struct queue_allowed told_allow(const char *names, uid_t uid);

#endif

/* Timers, ordered by the time at which they are due. */
#ifndef VOLTD_ADMIT_TIMED_H
#define VOLTD_ADMIT_TIMED_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/admit/treap.h"

struct admission;
struct timed;

/* Called when the timer is due; it is no longer set. */
typedef void timed_due(struct admission *a, struct timed *t, uint64_t now);

struct timed {
    struct treap_node node;
    timed_due *due;
    uint64_t at;
    bool set;
};

struct timed_queue {
    struct treap all;
};

#define TIMED_NEVER UINT64_MAX

/* Sets the timer, or moves one that is set. */
void timed_set(struct timed_queue *q, struct timed *t, uint64_t at);
/* Clears the timer, if it is set. */
void timed_clear(struct timed_queue *q, struct timed *t);
/* Returns when the next timer is due; TIMED_NEVER: none is set. */
uint64_t timed_next(const struct timed_queue *q);
/* Calls the first timer that is due. Returns false if none is. */
bool timed_run(struct timed_queue *q, struct admission *a, uint64_t now);

#endif

/* Things that are due at a time, the next one first. */
#ifndef VOLTD_ADMIT_TIMED_H
#define VOLTD_ADMIT_TIMED_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/admit/treap.h"

struct admission;
struct timed;

/* Its time has come, and it is set no longer. */
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

/* Also of one that is set, to another time. */
void timed_set(struct timed_queue *q, struct timed *t, uint64_t at);
/* Nothing happens to one that is not set. */
void timed_clear(struct timed_queue *q, struct timed *t);
/* When the next one is due; TIMED_NEVER: none is set. */
uint64_t timed_next(const struct timed_queue *q);
/* Tells the first one that is due. False: none is. */
bool timed_run(struct timed_queue *q, struct admission *a, uint64_t now);

#endif

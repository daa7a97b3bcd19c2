/* Resources and claims: does a claim fit?
 *
 * A resource has a certain amount of something. A claim is how much of it a job needs to
 * start. The kind gives an amount its meaning: a row of this table and of
 * resource_kinds.def, and a file if it needs one. The claims of a job are taken all at
 * once or not at all (class.h).
 *
 *   kind        released                 waiters that lack it are passed
 *   elements    at an element's end      any number of times: only an array lacks its own
 *                                        limit
 *   rate        never: it refills        any number of times, except for the rate itself
 *   rwlock      when no process is left  not at all, or Bypass= times (standing.h)
 *   semaphore   likewise                 likewise
 *   slots       at the job's end         by queues (job_queue.h)
 *
 * Pure: `now` is CLOCK_BOOTTIME in us. */
#ifndef VOLTD_ADMIT_RESOURCE_H
#define VOLTD_ADMIT_RESOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/list.h"
#include "daemon/admit/line.h"
#include "daemon/admit/timed.h"

struct admission;
struct claim;
struct resource;

/* The order of the claims of a set. */
enum resource_order {
    RESOURCE_LIMIT, /* the limit of the job's own array */
    RESOURCE_RATE,
    RESOURCE_LOCK,
    RESOURCE_MACHINE,
};

struct resource_kind {
    const char *name;
    enum resource_order order;
    bool counts; /* amounts of claims add up to at most the capacity, until given back */
    /* Return whether the claim fits now; whether it would fit if nothing were taken. */
    bool (*fits)(const struct resource *r, const struct claim *c, uint64_t now);
    bool (*possible)(const struct resource *r, const struct claim *c);
    /* Takes, or gives back, n times the claim. `take` does not check that it fits. */
    void (*take)(struct resource *r, const struct claim *c, uint64_t n, uint64_t now);
    void (*give)(struct resource *r, const struct claim *c, uint64_t n);
};

struct resource {
    const struct resource_kind *kind;
    uint64_t number;    /* unique among named resources */
    uint64_t capacity;  /* of a rate its burst */
    uint64_t used;      /* may exceed capacity: that was lowered, or claims were taken
                         * without asking; rates: 0 */
    uint64_t exclusive; /* rwlock: holders that do not share it */
    uint64_t waiting;   /* waiters in the line that claim it */
    uint32_t page;      /* scratch of a query: its index in a page, from 1; 0: in none */
    uint64_t per_usec;  /* rate: time for one token */
    uint64_t full_at;   /* rate: when all tokens are back */
    struct timed timed; /* rate: when its next offer is due */

    /* Used by standing.c. */
    struct line line;       /* classes that claim it */
    struct list impossible; /* classes whose claim exceeds the capacity */
    uint64_t nimpossible;   /* their number */
    uint64_t recheck;       /* how many of these to try again, as capacity has grown */
    uint64_t out_of_order;  /* times that a later waiter of the line took it */
    struct list_node due;   /* in admission.due: may be offered */
    bool is_due;
    struct account *left_to;        /* others leave it to a class of this account, */
    struct list_node left_by;       /* in its holds_up, */
    struct list_node left_by_queue; /* and in its queue's */
    struct list_node
        disputed; /* in admission.disputed: left_to is set, and the line has several
                   * queues */
    struct list_node
        mixed; /* in admission.mixed: left_to is set, and the line has slotted and
                * slotless lanes */
    bool is_disputed, is_mixed;
};

struct claim {
    struct resource *resource;
    uint32_t amount; /* at least 1 */
    bool exclusive;  /* rwlock: not shared */
};

/* Slots, elements and semaphores have amounts that add up (resource_sum.c). A rwlock has
 * one exclusive holder or any number that share it (resource_rwlock.c). A rate has tokens
 * that come back with time (resource_rate.c). */
#define RESOURCE(name_) extern const struct resource_kind resource_##name_;
#include "daemon/admit/resource_kinds.def"

void resource_init(struct resource *r, const struct resource_kind *kind, uint64_t n,
                   bool shared);
bool resource_is_named(const struct resource *r);
bool resource_counts(const struct resource *r);
bool resource_is_rate(const struct resource *r);

/* Notes that waiters behind a class of this account leave the resource to it: standing.c.
 * NULL: they leave it to no class. */
void resource_leave_to(struct admission *a, struct resource *r, struct account *account);
/* Marks the resource to be offered to the classes in its line. */
void resource_due(struct admission *a, struct resource *r);
/* Unlinks the resource from admission, before it is freed. */
void resource_unlink(struct admission *a, struct resource *r);

/* Return the tokens of a rate now, and when it will have so many. */
uint64_t rate_tokens(const struct resource *r, uint64_t now);
uint64_t rate_when(const struct resource *r, uint64_t tokens);

#endif

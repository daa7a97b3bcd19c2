/* Resources, and claims on them: does it fit?
 *
 * A resource is something of which there is a certain amount; a claim says how much of it
 * a job needs to start. What an amount means is its kind's matter: a row of this table
 * and of resource_kinds.def, and a file for kinds that need one. The claims of a job are
 * taken all at once or not at all (class.h).
 *
 *   kind        given back               what is short of it is passed
 *   elements    at the end of one        any number of times: only an array is short of
 *                                        its own limit
 *   rate        never: it refills        any number of times, but for the rate itself
 *   rwlock      when no process is left  not at all, or Bypass= times (standing.h)
 *   semaphore   likewise                 likewise
 *   slots       at the end               by queues (job_queue.h)
 *
 * Pure: `now` is microseconds of CLOCK_BOOTTIME. */
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

/* The claims of one set are in this order. */
enum resource_order {
    RESOURCE_LIMIT, /* what only the job's own array is short of */
    RESOURCE_RATE,
    RESOURCE_LOCK,
    RESOURCE_MACHINE,
};

struct resource_kind {
    const char *name;
    enum resource_order order;
    /* Whether it fits now; whether it would with nothing taken. */
    bool (*fits)(const struct resource *r, const struct claim *c, uint64_t now);
    bool (*possible)(const struct resource *r, const struct claim *c);
    /* n times the claim; taken whether it fits or not. */
    void (*take)(struct resource *r, const struct claim *c, uint64_t n, uint64_t now);
    void (*give)(struct resource *r, const struct claim *c, uint64_t n);
};

struct resource {
    const struct resource_kind *kind;
    uint64_t number;    /* no two named ones have the same */
    uint64_t capacity;  /* of a rate its burst */
    uint64_t used;      /* may be more: it was lowered, or claims were taken anyway; of a
                        * rate nothing */
    uint64_t exclusive; /* rwlock: of those that have it, how many not shared */
    uint64_t waiting;   /* waiters in the line that want it */
    uint32_t page;      /* of a question: its place in that page, from 1; 0: in none */
    uint64_t per_usec;  /* rate: in which one token comes back */
    uint64_t full_at;   /* rate: when all tokens are back */
    struct timed timed; /* rate: when something is due */

    /* Of standing.c. */
    struct line line;       /* classes that want it */
    struct list impossible; /* classes that want more than there is */
    uint64_t nimpossible;   /* how many they are */
    uint64_t recheck;       /* of these, the first: there is more now */
    uint64_t out_of_order;  /* times that a later one of the line took it */
    struct list_node due;   /* in admission.due: may be offered */
    bool is_due;
    struct account *left_to;        /* others leave it to a class of this account, ... */
    struct list_node left_by;       /* in its holds_up, */
    struct list_node left_by_queue; /* and in its queue's */
    struct list_node
        disputed; /* in admission.disputed: left_to, and the line is of several
                                * queues */
    struct list_node
        mixed; /* in admission.mixed: left_to, and in the line some take slots,
                             * and some do not */
    bool is_disputed, is_mixed;
};

struct claim {
    struct resource *resource;
    uint32_t amount; /* at least 1 */
    bool exclusive;  /* of a rwlock: not shared */
};

/* Slots, elements, semaphore: amounts that add up (resource_sum.c). rwlock: one with it
 * for itself, or any number that share it (resource_rwlock.c). rate: tokens that come
 * back with time (resource_rate.c). */
#define RESOURCE(name_) extern const struct resource_kind resource_##name_;
#include "daemon/admit/resource_kinds.def"

void resource_init(struct resource *r, const struct resource_kind *kind, uint64_t n,
                   bool shared);
bool resource_is_named(const struct resource *r);
bool resource_is_semaphore(const struct resource *r);
bool resource_is_rate(const struct resource *r);

/* What is in its line behind a class of this account waits for that: standing.c. NULL:
 * nothing does. */
void resource_leave_to(struct admission *a, struct resource *r, struct account *account);
/* There may be something for those in its line: it is to be offered. */
void resource_due(struct admission *a, struct resource *r);
/* Before it is freed: nothing of admission points to it any more. */
void resource_unlink(struct admission *a, struct resource *r);

/* Of a rate: tokens that there are; when there will be so many. */
uint64_t rate_tokens(const struct resource *r, uint64_t now);
uint64_t rate_when(const struct resource *r, uint64_t tokens);

#endif

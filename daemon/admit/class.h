/* A class: waiters of one user, in one queue, at one priority, with equal claims; the
 * limit of an array makes a class of its own for it. They differ in rank only, so only
 * the first of them is ever looked at: what does not fit for it fits for none.
 *
 * A class lives while a waiter refers to it. What is done with its claims is here; where
 * it stands in the lines is standing.h. */
#ifndef VOLTD_ADMIT_CLASS_H
#define VOLTD_ADMIT_CLASS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/hash_table.h"
#include "base/list.h"
#include "daemon/admit/admission.h"
#include "daemon/admit/line.h"
#include "daemon/admit/resource.h"

enum class_place { /* standing.h */
                   CLASS_EMPTY,
                   CLASS_READY,
                   CLASS_BLOCKED,
                   CLASS_SHORT,
                   CLASS_IMPOSSIBLE,
};

struct class
{
    struct hash_node hash;
    struct account *account;
    int32_t priority;
    uint32_t refs; /* waiters that have it */
    bool slotted;  /* a claim is on slots */
    uint8_t place;
    uint32_t n, named;      /* claims; those on named resources, one after the other */
    struct claim *short_of; /* BLOCKED, SHORT, IMPOSSIBLE: one of its claims */
    struct treap waiters;   /* in the line, by rank */
    uint64_t count;
    uint64_t rank;             /* of the first of them */
    struct resource *elements; /* the limit of its array, its own; NULL: it has none */
    struct list_node node;     /* IMPOSSIBLE: in the list of the resource */
    struct seat ready;         /* in the line of what may start next */
    struct seat blocked;       /* in that of what a lock is missing for, if it has named
                                * claims */
    struct seat *seats;        /* in those of its named resources, by claim */
    struct claim claims[];     /* by the order of their kinds; then the seats */
};

/* Finds or makes it; one reference more. 0; -ENOMEM; -ERANGE: can never fit. */
int class_get(struct admission *a, const struct admission_ask *ask, struct class **ret);
/* Its last one frees it: it is EMPTY then. */
void class_put(struct admission *a, struct class *c);
/* At the end of admission: what no waiter has put back. */
void classes_fini(struct admission *a);

/* Of an array with a limit: as many of its elements as may have their claims. */
bool class_is_at_limit(const struct class *c);
struct waiter *class_first(const struct class *c);
/* The waiter behind this one; NULL: none. */
struct waiter *class_after(const struct class *c, const struct waiter *w);
/* The first of them, n at most, in their order. Returns how many. */
size_t class_list(const struct class *c, struct waiter **ret_waiters, size_t n);
/* Waiters of the class with a rank before that of w, which need not be one of it; at most
 * this many. */
size_t class_count_before(const struct class *c, const struct waiter *w, size_t most);
/* While it has no seat that is taken, if this changes which one is the first. */
void class_add(struct class *c, struct waiter *w);
void class_remove(struct class *c, struct waiter *w);

/* How often those that want what it wants have been passed: standing.h. */
uint32_t class_passed(const struct class *c);
/* The waiter is eligible from now on; since then: how often it was passed, at most, and
 * for how long it has waited, in steps of 8 s. */
void class_stamp(struct waiter *w, uint64_t now);
uint32_t class_times_passed(const struct waiter *w);
uint64_t class_waited_usec(const struct waiter *w, uint64_t now);

/* The class behind this one in a lane that both have a seat in; NULL: none. */
struct class *class_behind(const struct lane *l, struct class *c);

/* Its first claim on a named resource, and the end of these. */
struct claim *class_named(struct class *c);
struct claim *class_named_end(struct class *c);
struct seat *class_seat(struct class *c, const struct claim *of);

/* The claims of one waiter. */
void class_take(struct class *c, uint64_t now);
/* All but what is spent; its locks. */
void class_take_again(struct class *c, uint64_t now);
void class_take_locks(struct class *c, uint64_t now);
/* Of n waiters: what goes back when they have ended; their locks; what was spent. */
void class_give(struct class *c, uint64_t n);
void class_give_locks(struct class *c, uint64_t n);
void class_refund(struct class *c, uint64_t n);
/* Of one waiter what it has of the machine: given back; taken again. */
void class_lend(struct class *c);
void class_take_back(struct class *c, uint64_t now);
/* How much of the machine one takes: amount of capacity. */
struct class_share {
    uint64_t amount, capacity;
};
struct class_share class_share(const struct class *c);

#endif

/* A class: waiters of one user, in one queue, at one priority, with equal claims. An
 * array with a limit has a class of its own. Waiters of a class differ only in rank, so
 * only the first is ever tried: if its claims do not fit, none of the others' do.
 *
 * A class lives while a waiter refers to it. This file handles its claims; standing.h
 * says where it stands in the lines. */
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
    uint32_t refs; /* waiters that refer to it */
    bool slotted;  /* it claims a slot */
    uint8_t place;
    uint32_t n, named;      /* claims; of these on named resources, in a row */
    struct claim *short_of; /* BLOCKED, SHORT, IMPOSSIBLE: the claim that does not fit */
    struct treap waiters;   /* its waiters in the line, by rank */
    uint64_t count;
    uint64_t rank;             /* of the first waiter */
    struct resource *elements; /* limit of its array, owned; NULL: none */
    struct list_node node;     /* IMPOSSIBLE: in the list of the resource */
    struct seat ready;         /* in the ready line */
    struct seat blocked;       /* in the blocked line; only with named claims */
    struct seat *seats;        /* in the line of each named resource, by claim */
    struct claim claims[];     /* in order of kinds; followed by the seats */
};

/* Finds or makes the class of an ask, and adds a reference. Returns:
 *   0
 *   -ENOMEM
 *   -E2BIG   too many claims
 *   -ERANGE  the claims can never fit */
int class_get(struct admission *a, const struct admission_ask *ask, struct class **ret);
/* Drops a reference. The last one frees the class, which must be EMPTY. */
void class_put(struct admission *a, struct class *c);
/* Frees all classes at the end of admission. */
void classes_fini(struct admission *a);

/* Returns whether the limit of running elements of its array is reached. */
bool class_is_at_limit(const struct class *c);
struct waiter *class_first(const struct class *c);
/* Returns the waiter after this one; NULL: none. */
struct waiter *class_after(const struct class *c, const struct waiter *w);
/* Fills in the first n waiters at most, in order. Returns their number. */
size_t class_list(const struct class *c, struct waiter **ret_waiters, size_t n);
/* Returns how many waiters of the class have a rank before that of w, at most `most`; w
 * need not be in the class. */
size_t class_count_before(const struct class *c, const struct waiter *w, size_t most);
/* Add or remove a waiter. If this changes the first waiter, no seat of the class may be
 * taken. */
void class_add(struct class *c, struct waiter *w);
void class_remove(struct class *c, struct waiter *w);

/* Returns how often waiters for the same resources have been passed: standing.h. */
uint32_t class_passed(const struct class *c);
/* class_stamp() notes that the waiter becomes eligible now. The other functions return an
 * upper bound of how often it was passed since then, and how long it has waited, in steps
 * of 8 s. */
void class_stamp(struct waiter *w, uint64_t now);
uint32_t class_times_passed(const struct waiter *w);
uint64_t class_waited_usec(const struct waiter *w, uint64_t now);

/* Returns the class after this one in a lane in which both have a seat; NULL: none. */
struct class *class_behind(const struct lane *l, struct class *c);

/* Return its first claim on a named resource, and the end of these claims. */
struct claim *class_named(struct class *c);
struct claim *class_named_end(struct class *c);
struct seat *class_seat(struct class *c, const struct claim *of);

/* Takes the claims of one waiter. */
void class_take(struct class *c, uint64_t now);
/* Take all claims of one waiter except rates; take only its locks. */
void class_take_again(struct class *c, uint64_t now);
void class_take_locks(struct class *c, uint64_t now);
/* Release claims of n waiters: limits and slots, at their end; locks; tokens of rates. */
void class_give(struct class *c, uint64_t n);
void class_give_locks(struct class *c, uint64_t n);
void class_refund(struct class *c, uint64_t n);
/* Release the slot of one waiter, and take it again. */
void class_lend(struct class *c);
void class_take_back(struct class *c, uint64_t now);
/* Returns how much of the machine one waiter takes: amount of capacity. */
struct class_share {
    uint64_t amount, capacity;
};
struct class_share class_share(const struct class *c);

#endif

/* Where a class stands: in the lines of all that it claims, or of what it lacks.
 *
 *   EMPTY    it has no waiter in the line
 *   READY    it is not known to lack anything but slots: in the ready line, and in the
 *            line of each named resource that it claims
 *   BLOCKED  it lacks a lock, and is tried when that is offered: in the blocked line, and
 *            in the line of each lock
 *   SHORT    it lacks tokens of a rate, or an element of its array's limit: only in that
 *            line, so that nothing else is set aside for it
 *   IMPOSSIBLE  a claim exceeds the capacity: it is in no line
 *
 * The right to a lock. The first waiter in the line of a lock may take it. No later
 * waiter may, even if the lock fits it and not the first: readers do not starve a writer.
 * The first loses its right while it could not start anyway, as its queue is paused, its
 * user is away, or its queue or user has all slots that they may have. Then it may be
 * passed any number of times. If only a slot of the machine is missing, it may be passed
 * bypass.times times or for bypass.usec, whichever ends first. After that it keeps its
 * right, which is called a reservation. Only the first waiter of a user in the line can
 * have one. If several users have one, the earliest counts.
 *
 * Passing. A grant that takes a lock or slot and leaves an earlier waiter in its line
 * adds 1 to the resource's out_of_order. So a waiter has been passed at most as often as
 * the sum over its claims has grown since it became eligible. A class that changes its
 * place keeps its claims, and so this count.
 *
 * Offers. A resource is due when a class that is not READY may take some of it: more of
 * it is free, or an earlier class has left its line or lost its right. admission_next()
 * then offers it: it makes READY the classes that it fits, from the first in its line up
 * to the class with the right. If one then turns out to lack something else, it is parked
 * again. An offer is O(users in the line). Without changes nothing is offered. */
#ifndef VOLTD_ADMIT_STANDING_H
#define VOLTD_ADMIT_STANDING_H

#include "daemon/admit/class.h"

#define BYPASS_TIMES 64
#define BYPASS_USEC  UINT64_C(600000000)

/* Add a waiter of the class to the line, and remove it. */
void standing_add(struct admission *a, struct class *c, struct waiter *w);
void standing_remove(struct admission *a, struct class *c, struct waiter *w);

/* Returns the first class of the ready line whose queue and user may have the slot that
 * it claims; NULL: none. */
struct class *standing_first(const struct admission *a);
/* Returns the first claim that a READY class may not take now; NULL: it may take all. */
struct claim *standing_short(struct admission *a, struct class *c, uint64_t now);
/* Moves the class to the place for a class that lacks that claim. */
void standing_park(struct admission *a, struct class *c, struct claim *of);
/* Makes the class READY again. */
void standing_retry(struct admission *a, struct class *c);

/* Returns whether the waiter, which is in the line, has a reservation. */
bool standing_is_reserved(const struct admission *a, const struct waiter *w,
                          uint64_t now);

/* Returns the next class after c (NULL: the first) that is before the waiter in the line
 * of r and would have the right to r if it were first; not the waiter's own class. r is a
 * resource that the waiter claims. Looks at no more than *looks classes and deducts them.
 * NULL: there is none. */
struct class *standing_ahead(struct admission *a, const struct waiter *w,
                             const struct resource *r, struct class *c, uint64_t now,
                             unsigned *looks);

/* Counts the waiters that the class passes. Called before its claims are taken. */
void standing_passes(struct admission *a, struct class *c);

/* Updates the lines after slots were taken or released, for this account or NULL, or
 * after a policy changed. */
void standing_slots(struct admission *a, struct account *account);
/* Updates the lines after the user of the account became away or available, or its limit
 * of slots changed. */
void standing_user(struct admission *a, struct account *account);
/* Updates the lines after the policy of the queue changed; standing_slots() follows. */
void standing_queue(struct admission *a, struct job_queue *q);
/* Reorders the lines after the virtual time of the account changed. */
void standing_reorder(struct admission *a, struct account *account);
/* Offers the first resource that is due. Returns false if none is. */
bool standing_offer(struct admission *a, uint64_t now);

/* Returns whether the lane's user and queue may have a slot more, if the lane is
 * slotted. */
bool lane_is_able(const struct lane *l);

#endif

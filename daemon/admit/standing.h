/* Where a class stands: in the lines of all that it wants, or of what it is short of.
 *
 *   EMPTY    no waiter of it is in the line
 *   READY    it is not known to be short of anything but slots. It is in the ready line,
 *            and in that of each named resource that it wants
 *   BLOCKED  it is short of one lock, and will be tried when that is offered. It is in
 *            the blocked line, and in that of each lock
 *   SHORT    of a rate, or of its array's limit: in that one's line only, so that nothing
 *            else is kept for it
 *   IMPOSSIBLE  it wants more than there is of one: in no line
 *
 * The right to a lock. Of what is in the line of a lock the first may take it. Nothing
 * later may, even if the lock would do for that one and not for the first: a writer is
 * not starved by readers. The first loses its right while it could not start anyway: its
 * queue is paused, or its queue or user has all slots that they may have. Then it may be
 * passed any number of times. If only the machine has no slot for it now, it may be
 * passed bypass.times times, or for bypass.usec, whichever ends first; after that it
 * keeps its right, which is called a reservation. Only the first of a user in the line
 * can have one; if several users have, the earliest one counts.
 *
 * Passed: a grant that takes something and leaves an earlier one in the line of it adds
 * one to out_of_order of that resource. So a waiter has been passed at most as often as
 * the sum over what it wants has grown since it became eligible. A class that changes its
 * place keeps its lines, and so this count.
 *
 * An offer. A resource is due when there may be something for a class that is not READY:
 * there is more of it, or an earlier class has left its line or lost its right.
 * admission_next() then offers it: it makes READY those for which it would do, from the
 * first in its line up to the one that has the right. What turns out to be short when it
 * is tried goes back. An offer is O(users in the line), and where nothing changes nothing
 * is offered. */
#ifndef VOLTD_ADMIT_STANDING_H
#define VOLTD_ADMIT_STANDING_H

#include "daemon/admit/class.h"

#define BYPASS_TIMES 64
#define BYPASS_USEC  UINT64_C(600000000)

/* A waiter of it joins, or leaves, the line. */
void standing_add(struct admission *a, struct class *c, struct waiter *w);
void standing_remove(struct admission *a, struct class *c, struct waiter *w);

/* The first of the ready line whose queue and user may have what it claims of the
 * machine; NULL: none. */
struct class *standing_first(const struct admission *a);
/* The first claim of a READY class that it may not take now; NULL: it may take all. */
struct claim *standing_short(struct admission *a, struct class *c, uint64_t now);
/* It goes where that claim says. */
void standing_park(struct admission *a, struct class *c, struct claim *of);
/* It is READY again. */
void standing_retry(struct admission *a, struct class *c);

/* Whether the waiter, which is in the line, has a reservation. */
bool standing_is_reserved(const struct admission *a, const struct waiter *w,
                          uint64_t now);

/* Of the classes before the waiter in the line of r, which it claims, the next behind c
 * (NULL: the first) that has the right to r when nothing is before it; not its own class.
 * Looks at *looks of them at most, and takes those off. NULL: there is none. */
struct class *standing_ahead(struct admission *a, const struct waiter *w,
                             const struct resource *r, struct class *c, uint64_t now,
                             unsigned *looks);

/* It takes its claims: counts what it passes. Before they are taken. */
void standing_passes(struct admission *a, struct class *c);

/* Slots were taken or given back, for this account or NULL; a policy has changed. */
void standing_slots(struct admission *a, struct account *account);
/* The policy of the queue has changed. Then standing_slots(). */
void standing_queue(struct admission *a, struct job_queue *q);
/* The virtual time of the account has changed. */
void standing_reorder(struct admission *a, struct account *account);
/* Offers the first that is due. False: none was. */
bool standing_offer(struct admission *a, uint64_t now);

/* Whether the lane's user and queue may have one slot more, if that is what it takes. */
bool lane_is_able(const struct lane *l);

#endif

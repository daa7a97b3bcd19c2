/* Admission: why a job may not start yet, and which one starts next.
 *
 *   conditions unmet: waits on them -> eligible: a place in the line
 *       -> its turn, and all that it claims is free at once -> the grant
 *
 * A condition (condition.h) is a reason that has nothing to do with others that wait; a
 * claim (resource.h) is on something that others want as well. What asks for the same, in
 * one queue, for one user, at one priority, is a class (class.h): only the first of a
 * class is ever looked at. The line (line.h) is one order over all of them: queue,
 * priority, user by virtual time (account.h), rank.
 *
 * A waiter is one job, or one array as a whole: an array stays in the line while it has
 * elements without a grant, and gets one element's claims at a time.
 *
 *              admission_assign        admission_enter        admission_take
 *   WAITER_NONE ---------------> APART ----------------> LINE ---------------> APART
 *                                  |        a condition |  ^ the last one met    |
 *              admission_forget    |                    v  |                     |
 *   WAITER_NONE <------------------+                  UNMET     <- put_back -----+
 *
 * What was taken belongs to the caller, which gives it back by admission_ended() and
 * admission_gone(); the waiter keeps its class until then. An array holds
 * claims of many elements while it is in the line.
 *
 * Pure: no lock, clock, descriptor. Core's lock guards it; `now` is microseconds of
 * CLOCK_BOOTTIME. Only what says so can fail; what cannot fail allocates nothing. */
#ifndef VOLTD_ADMIT_ADMISSION_H
#define VOLTD_ADMIT_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/siphash.h"
#include "daemon/admit/treap.h"

struct admission; /* state.h */
struct class;
struct claim;
struct condition;
struct job_queue;
struct queue_policy;
struct resource;

enum waiter_state {
    WAITER_NONE,  /* zeroes: it has no class */
    WAITER_APART, /* it has one; it waits for nothing */
    WAITER_UNMET, /* it waits on conditions */
    WAITER_LINE,  /* it is eligible */
};

/* In what waits. Members are the room's own. */
struct waiter {
    union {
        struct treap_node node;       /* LINE: in its class, by rank */
        struct condition *conditions; /* UNMET: never NULL */
    };
    struct class *class;
    uint64_t rank;
    uint32_t passed;       /* LINE: what class_passed() was when it became eligible */
    uint32_t since : 27;   /* LINE: in units of 8 s, when that was */
    uint32_t state : 3;    /* enum waiter_state */
    uint32_t start_by : 1; /* doom.h has a time for it */
    uint32_t is_lease : 1; /* the caller's: what it is part of */
};

_Static_assert(sizeof(struct waiter) <= 40, "a job that waits is to be small");

/* --- life --------------------------------------------------------------------------- */
/* With one queue, "default", and as many slots. Returns new; NULL: no memory. */
struct admission *admission_new(const struct siphash_key *secret, uint32_t slots);
/* NULL allowed. Waiters that are still in it are not touched, and not used again. */
void admission_free(struct admission *a);

#define ADMISSION_CLAIMS 16

/* --- what a waiter asks for --------------------------------------------------------- */
/* A priority without a slot: before all others of every queue, in the line of what it
 * claims, and though its own is paused. */
#define ADMISSION_FIRST INT32_MAX
/* Zeroes: no process, no claims, the default queue. */
struct admission_ask {
    uid_t uid;
    int32_t priority;
    bool slot;     /* one slot for each element */
    uint32_t most; /* elements of an array that may run at once; 0: any number */
    struct job_queue *queue; /* NULL: "default" */
    const struct claim
        *claims; /* on named resources (named.h), ADMISSION_CLAIMS at most */
    size_t n;
    bool again; /* it was taken before: what can never fit by now waits */
};

/* Gives the waiter its class: from here on admission_enter() cannot fail. The rank orders
 * the waiters of a user, smaller first: the id of the job. 0; -ENOMEM; -E2BIG: claims;
 * -ERANGE: it can never fit. */
int admission_assign(struct admission *a, struct waiter *w,
                     const struct admission_ask *ask, uint64_t rank);
/* The waiter asks from now on for what the other one does, which is APART, with its rank;
 * and the other has what it had. Nothing may be taken for either. How often the waiter
 * was passed stays, and what it waits for. */
void admission_exchange(struct admission *a, struct waiter *w, struct waiter *other);
/* From any state; nothing happens to a waiter of zeroes. Nothing may be taken for it. */
void admission_forget(struct admission *a, struct waiter *w);

/* --- waiting ------------------------------------------------------------------------ */
/* It waits: for its conditions if it was given any, else it is in the line. */
void admission_enter(struct admission *a, struct waiter *w, uint64_t now);
/* It waits no longer: APART. Its conditions are freed. Nothing happens to one that does
 * not wait. */
void admission_leave(struct admission *a, struct waiter *w);
/* It is eligible, or waits on conditions. */
bool admission_waits(const struct waiter *w);

/* --- the line ----------------------------------------------------------------------- */
/* The first in the line whose claims all fit, for admission_take(). Looks at *budget
 * classes at most and takes those off, and as many for ADMISSION_LANES lanes of a line
 * each (line.h): a user has one for each priority. NULL with *budget 0: call it again,
 * NULL otherwise: nothing fits. */
struct waiter *admission_next(struct admission *a, uint64_t now, unsigned *budget);
#define ADMISSION_LANES 32
/* Lanes that were looked at so far, by that and by what takes claims or gives them back:
 * 0.2 us each. */
uint64_t admission_lanes_looked(const struct admission *a);
/* admission_next() would find nothing: it has said so of all that is in the line. */
bool admission_is_settled(const struct admission *a);
/* Takes the claims of one (of an array: of one element) for a waiter that has a class,
 * whether it is next and whether they fit or not: admission_next() says so, and recovery
 * and a start that nobody can recall need not ask. It leaves the line if stays is
 * false; one that does not wait is APART before and after. */
void admission_take(struct admission *a, struct waiter *w, bool stays, uint64_t now);
/* The same for an attempt that began before a restart: what was spent then is not spent
 * again. Of one that has ended and whose processes are still there: its locks. */
void admission_recover(struct admission *a, struct waiter *w, uint64_t now);
void admission_recover_locks(struct admission *a, struct waiter *w, uint64_t now);
/* Takes them only if they fit and the line is empty. */
bool admission_try(struct admission *a, struct waiter *w, uint64_t now);
/* The same of one without a slot that is APART, whatever is in the line, if that leaves
 * the right to what it takes to nothing before it. */
bool admission_try_named(struct admission *a, struct waiter *w, uint64_t now);
/* What was taken last for the waiter was not used: all of it goes back. */
void admission_undo(struct admission *a, struct waiter *w, uint64_t now);
/* Of that only what it spent of rates. */
void admission_refund(struct admission *a, struct waiter *w, uint64_t now);
/* All of it, and the waiter goes back to the place in the line that it had. */
void admission_put_back(struct admission *a, struct waiter *w, uint64_t now);

/* The attempt of one, or of n elements, has ended: slots and limits are given back. ran:
 * how long they ran, all together. */
void admission_ended(struct admission *a, struct waiter *w, uint64_t n, uint64_t ran_usec,
                     uint64_t now);
/* One that has its slot lends it: the slot is free for others, also in its queue and for
 * its user. Its locks and the limit of its array stay taken, and its time counts as if it
 * had the slot. Before it ends, or what was taken for it goes back, it takes the slot
 * back: at once, whether one is free or not. */
void admission_lend(struct admission *a, struct waiter *w, uint64_t now);
void admission_take_back(struct admission *a, struct waiter *w, uint64_t now);
/* No process of them is left: named locks are given back. */
void admission_gone(struct admission *a, struct waiter *w, uint64_t n, uint64_t now);

/* --- the first of the line ---------------------------------------------------------- */
/* The first of those that wait for nothing but slots, n at most, in the order in which
 * they would get them if each ran for what its user's jobs take; an array once. Nothing
 * while users of a queue that may get them have a limit, or more than eight queues may.
 * Returns how many. */
size_t admission_peek(struct admission *a, struct waiter **ret_waiters, size_t n);
/* Its queue and user may have a slot now. */
bool admission_may_have_slot(const struct waiter *w);
/* What the waiter's class claims of named resources: *ret_n of them. */
const struct claim *admission_claims(const struct waiter *w, size_t *ret_n);
/* What is before the waiter in the line of a resource that it claims, and takes that
 * first when it is free: of each such class but its own the first one, the next behind
 * `from`; NULL: the first of all. The waiter need not be in the line yet. Looks at *looks
 * classes at most, and takes those off. NULL: there is none. */
struct waiter *admission_ahead(struct admission *a, const struct waiter *w,
                               const struct resource *r, const struct waiter *from,
                               uint64_t now, unsigned *looks);
/* The first of those of its class that are before it, n at most. Returns how many. */
size_t admission_alike_before(const struct waiter *w, struct waiter **ret_waiters,
                              size_t n);
/* Of the user: classes that have waiters in the line, in all queues. */
uint64_t admission_classes_of(const struct admission *a, uid_t uid);
/* Whether anything is in the line, fit or not. */
bool admission_is_idle(const struct admission *a);
/* Whether a's place is before b's now; both need not wait. */
bool admission_before(const struct waiter *a, const struct waiter *b);

/* --- time --------------------------------------------------------------------------- */
/* Of both clocks: CLOCK_BOOTTIME, and CLOCK_REALTIME for dates. */
struct admission_times {
    uint64_t boottime, realtime;
};
/* When admission_tick() has something to do by each; TIMED_NEVER: nothing. */
struct admission_times admission_tick_at(const struct admission *a);
/* What is due by now, `budget` things at most. False: more is. Then admission_next() and
 * doom_first(). */
bool admission_tick(struct admission *a, const struct admission_times *now,
                    unsigned budget);

/* --- counts and limits -------------------------------------------------------------- */
struct admission_counts {
    uint32_t slots, used;     /* used may be more: limits were lowered, or taken anyway */
    uint64_t eligible, unmet; /* waiters */
};
struct admission_counts admission_count(const struct admission *a);
void admission_resize(struct admission *a, uint32_t slots);
/* Of a named resource: of what is used more than that, nothing is taken away. Of a rate
 * its burst and time for one token. */
void admission_resize_named(struct admission *a, struct resource *r, uint64_t capacity,
                            uint64_t per_usec);
/* How often, and for how long, what lacks locks and a slot may be passed: standing.h. */
struct admission_bypass {
    uint32_t times;
    uint64_t usec;
};
void admission_set_bypass(struct admission *a, const struct admission_bypass *bypass);
struct job_queue *admission_default_queue(struct admission *a);
/* Of one queue: what its jobs have, its waiters in the line, and on conditions; and all
 * that were assigned to it, until they are forgotten. */
struct admission_queue_counts {
    uint64_t slots, waiting, unmet, assigned;
};
struct admission_queue_counts admission_count_queue(const struct job_queue *q);
/* Returns another queue; it stays. NULL: no memory. */
struct job_queue *admission_add_queue(struct admission *a,
                                      const struct queue_policy *policy);
void admission_set_queue(struct admission *a, struct job_queue *q,
                         const struct queue_policy *policy);

#define ADMISSION_EXACT 128
/* How many of those in the line are in front of one that is in it too: of its own user
 * and priority exact below ADMISSION_EXACT, beyond that at least as many. */
uint64_t admission_position(const struct waiter *w);

#endif

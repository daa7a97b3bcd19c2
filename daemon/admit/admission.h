/* Admission: knows why a job may not start yet, and which job starts next.
 *
 *   unmet conditions: the waiter is not eligible -> eligible: it has a place in the line
 *       -> it is first and all its claims fit at once -> the grant
 *
 * A condition (condition.h) has nothing to do with other waiters. A claim (resource.h) is
 * on something that others want too. Waiters with the same claims, queue, user and
 * priority are a class (class.h); only the first waiter of a class is ever tried. The
 * line (line.h) orders all classes: by queue, priority, user in virtual time (account.h),
 * then rank.
 *
 * A waiter is a job, or an array as a whole. An array stays in the line while it has
 * elements without a grant. A grant of an array is the claims of one element.
 *
 *              admission_assign        admission_enter        admission_take
 *   WAITER_NONE ---------------> APART ----------------> LINE ---------------> APART
 *                                  |        a condition |  ^ the last one met    |
 *              admission_forget    |                    v  |                     |
 *   WAITER_NONE <------------------+                  UNMET     <- put_back -----+
 *
 * The caller owns claims that were taken, and releases them by admission_ended() and
 * admission_release_locks(). The waiter has its class until then. An array may own claims
 * of many elements while it is in the line.
 *
 * Pure: no lock, clock or descriptor. Core's lock guards it; `now` is CLOCK_BOOTTIME in
 * us. Functions can fail only if their comment says so; the others allocate nothing. */
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
    WAITER_NONE,  /* zeroes: no class */
    WAITER_APART, /* has a class; does not wait */
    WAITER_UNMET, /* waits for its conditions */
    WAITER_LINE,  /* eligible */
};

/* Embedded in each job or lease that waits. Members are the room's own. */
struct waiter {
    union {
        struct treap_node node;       /* LINE: in its class, by rank */
        struct condition *conditions; /* UNMET: never NULL */
    };
    struct class *class;
    uint64_t rank;
    uint32_t passed;       /* LINE: class_passed() when it became eligible */
    uint32_t since : 27;   /* LINE: when that was, in units of 8 s */
    uint32_t state : 3;    /* enum waiter_state */
    uint32_t start_by : 1; /* doom.h has a deadline for it */
    uint32_t is_lease : 1; /* part of a lease; for the caller */
};

_Static_assert(sizeof(struct waiter) <= 40, "a job that waits is to be small");

/* --- life --------------------------------------------------------------------------- */
/* Returns new admission with that many slots and one queue, "default"; NULL: no
 * memory. */
struct admission *admission_new(const struct siphash_key *secret, uint32_t slots);
/* Frees admission; NULL is allowed. Waiters still in it are not touched, and must not be
 * used again. */
void admission_free(struct admission *a);

#define ADMISSION_CLAIMS 16

/* --- what a waiter asks for --------------------------------------------------------- */
/* The priority of waiters without a slot that go before all others, of every queue, in
 * the lines of what they claim. They start even if their queue is paused. */
#define ADMISSION_FIRST INT32_MAX
/* Zeroes: no slot, no claims, the default queue. */
struct admission_ask {
    uid_t uid;
    int32_t priority;
    bool slot;     /* claims a slot, for an array one per element */
    uint32_t most; /* elements of an array that may run at once; 0: any number */
    struct job_queue *queue; /* NULL: "default" */
    const struct claim
        *claims; /* on named resources (named.h), at most ADMISSION_CLAIMS */
    size_t n;
    bool again; /* accepted before: claims that can never fit do not fail */
};

/* Gives the waiter its class, so that admission_enter() cannot fail. The rank is the id
 * of the job and orders the waiters of a user, smaller first. Returns:
 *   0
 *   -ENOMEM
 *   -E2BIG   too many claims
 *   -ERANGE  the claims can never fit */
int admission_assign(struct admission *a, struct waiter *w,
                     const struct admission_ask *ask, uint64_t rank);
/* Exchanges class and rank of two waiters; `other` is APART. No claim may be taken for
 * either. The waiter keeps its conditions, and how often it was passed. */
void admission_exchange(struct admission *a, struct waiter *w, struct waiter *other);
/* Takes the waiter out of admission, from any state. No claim may be taken for it. Does
 * nothing to a waiter of zeroes. */
void admission_forget(struct admission *a, struct waiter *w);

/* --- waiting ------------------------------------------------------------------------ */
/* Makes the waiter wait: for its conditions if it has any, otherwise in the line. */
void admission_enter(struct admission *a, struct waiter *w, uint64_t now);
/* Makes the waiter APART, and frees its conditions. Does nothing unless it waits. */
void admission_leave(struct admission *a, struct waiter *w);
/* Returns whether the waiter is in the line or waits for conditions. */
bool admission_waits(const struct waiter *w);

/* --- the line ----------------------------------------------------------------------- */
/* Returns the first waiter in the line whose claims all fit, for admission_take(). Looks
 * at no more than *budget classes and deducts them; ADMISSION_LANES lanes of a line cost
 * as much as a class (line.h), as a user has a lane for each priority. NULL: if *budget
 * is 0, call it again; otherwise nothing fits. */
struct waiter *admission_next(struct admission *a, uint64_t now, unsigned *budget);
#define ADMISSION_LANES 32
/* Returns how many lanes were looked at so far, here and when claims were taken or
 * released: 0.2 us each. */
uint64_t admission_lanes_looked(const struct admission *a);
/* Returns whether admission_next() would return NULL for all waiters now in the line. */
bool admission_is_settled(const struct admission *a);
/* Takes the claims of a waiter, of an array for one element. Does not check that the
 * waiter is next or that the claims fit: admission_next() does. Recovery does not ask,
 * nor does a start that cannot be recalled. Unless `stays`, the waiter leaves the line. A
 * waiter that does not wait stays APART. */
void admission_take(struct admission *a, struct waiter *w, bool stays, uint64_t now);
/* Takes the claims of an attempt that began before a restart, except for rates, which
 * were spent then. The second function takes only the locks: for an attempt that has
 * ended, but still has processes. */
void admission_recover(struct admission *a, struct waiter *w, uint64_t now);
void admission_recover_locks(struct admission *a, struct waiter *w, uint64_t now);
/* Takes the claims only if they fit and the line is empty. Returns whether it did. */
bool admission_try(struct admission *a, struct waiter *w, uint64_t now);
/* Takes the claims of an APART waiter without a slot, whatever is in the line, if they
 * fit and no earlier waiter has a right to them (standing.h). Returns whether it did. */
bool admission_try_named(struct admission *a, struct waiter *w, uint64_t now);
/* Gives back all that was taken last for the waiter, as it was not used. */
void admission_undo(struct admission *a, struct waiter *w, uint64_t now);
/* Gives back only the tokens of rates that were spent last for the waiter. */
void admission_refund(struct admission *a, struct waiter *w, uint64_t now);
/* Gives back all that was taken last, and puts the waiter back to its place in the
 * line. */
void admission_put_back(struct admission *a, struct waiter *w, uint64_t now);

/* Releases slots and limits at the end of an attempt, or of n elements. ran_usec: their
 * running times added up. */
void admission_ended(struct admission *a, struct waiter *w, uint64_t n, uint64_t ran_usec,
                     uint64_t now);
/* Lends the slot of a running job: it is free for others, also in its queue and for its
 * user. Locks and the limit of its array stay taken, and its time counts as if it had the
 * slot. Before the job ends or its claims are given back, admission_take_back() takes a
 * slot at once, even if none is free. */
void admission_lend(struct admission *a, struct waiter *w, uint64_t now);
void admission_take_back(struct admission *a, struct waiter *w, uint64_t now);
/* Releases the named locks of n attempts, whose last processes are gone. */
void admission_release_locks(struct admission *a, struct waiter *w, uint64_t n,
                             uint64_t now);

/* --- the first of the line ---------------------------------------------------------- */
/* Fills in up to n waiters that wait only for slots, in the order in which they would get
 * them if each ran for its user's expected duration. An array comes once. Fills in none
 * if users have a limit, all or those of an eligible queue, or if more than eight queues
 * may get slots; ends behind 256 classes with claims, and lanes of users that are away.
 * Returns their number. */
size_t admission_peek(struct admission *a, struct waiter **ret_waiters, size_t n);
/* Returns whether the waiter's queue and user may have a slot now. */
bool admission_may_have_slot(const struct waiter *w);
/* Returns the waiter's claims on named resources; *ret_n: their number. */
const struct claim *admission_claims(const struct waiter *w, size_t *ret_n);
/* Returns the next waiter that is before w in the line of r, a resource that w claims,
 * and has the right to r when it is free. Only the first waiter of each other class
 * counts. `from`: the one returned last; NULL: starts at the first. w need not be in the
 * line yet. Looks at no more than *looks classes and deducts them. NULL: there is
 * none. */
struct waiter *admission_ahead(struct admission *a, const struct waiter *w,
                               const struct resource *r, const struct waiter *from,
                               uint64_t now, unsigned *looks);
/* Fills in up to n waiters of the same class that are before w. Returns their number. */
size_t admission_alike_before(const struct waiter *w, struct waiter **ret_waiters,
                              size_t n);
/* Returns how many classes of the user have waiters in the line, in all queues. */
uint64_t admission_classes_of(const struct admission *a, uid_t uid);
/* Returns whether the line is empty. */
bool admission_is_idle(const struct admission *a);
/* Returns whether a's place is before b's now; neither needs to wait. */
bool admission_before(const struct waiter *a, const struct waiter *b);

/* --- users that are away ------------------------------------------------------------ */
/* Makes new users away: none of their jobs gets a slot. To be called before the first
 * waiter. */
void admission_begin_away(struct admission *a);
/* Sets whether the user is away. Returns 0; -ENOMEM: nothing has changed. Cannot fail for
 * a user that has had a waiter. */
int admission_set_away(struct admission *a, uid_t uid, bool away);
/* Returns whether waiters of the user are in the line for slots. */
bool admission_has_waiters(struct admission *a, uid_t uid);
/* Returns whether users are listed as missed (account.h). */
bool admission_misses_users(const struct admission *a);
/* Takes the first user from the list of missed users. Returns false if it is empty. */
bool admission_take_missed(struct admission *a, uid_t *ret_uid);

/* --- time --------------------------------------------------------------------------- */
/* Times of both clocks: CLOCK_BOOTTIME, and CLOCK_REALTIME for dates. */
struct admission_times {
    uint64_t boottime, realtime;
};
/* Returns when admission_tick() has something to do, by each clock; TIMED_NEVER:
 * never. */
struct admission_times admission_tick_at(const struct admission *a);
/* Does at most `budget` things that are due. Returns false if more are due. Call
 * admission_next() and doom_first() afterwards. */
bool admission_tick(struct admission *a, const struct admission_times *now,
                    unsigned budget);

/* --- counts and limits -------------------------------------------------------------- */
struct admission_counts {
    uint32_t slots, used;     /* used may exceed slots: slots were lowered, or taken
                               * without asking */
    uint64_t eligible, unmet; /* waiters */
};
struct admission_counts admission_count(const struct admission *a);
void admission_resize(struct admission *a, uint32_t slots);
/* Changes the capacity of a named resource, for a rate its burst and the time per token.
 * Claims that are taken stay taken. */
void admission_resize_named(struct admission *a, struct resource *r, uint64_t capacity,
                            uint64_t per_usec);
/* Sets how many slots each user may have in all queues; 0: any number. Jobs that have
 * more keep them. */
void admission_set_user_most(struct admission *a, uint32_t most);
/* How often, and for how long, a waiter that lacks locks and a slot may be passed:
 * standing.h. */
struct admission_bypass {
    uint32_t times;
    uint64_t usec;
};
void admission_set_bypass(struct admission *a, const struct admission_bypass *bypass);
struct job_queue *admission_default_queue(struct admission *a);
/* Counts of a queue: slots of its jobs, waiters in the line, waiters on conditions, and
 * all waiters that were assigned to it and not yet forgotten. */
struct admission_queue_counts {
    uint64_t slots, waiting, unmet, assigned;
};
struct admission_queue_counts admission_count_queue(const struct job_queue *q);
/* Adds a queue, which stays. NULL: no memory. */
struct job_queue *admission_add_queue(struct admission *a,
                                      const struct queue_policy *policy);
void admission_set_queue(struct admission *a, struct job_queue *q,
                         const struct queue_policy *policy);

#define ADMISSION_EXACT 128
/* Returns how many waiters are in front of w, which is in the line. For w's own user and
 * priority the number is exact below ADMISSION_EXACT, otherwise a lower bound. */
uint64_t admission_position(const struct waiter *w);

#endif
